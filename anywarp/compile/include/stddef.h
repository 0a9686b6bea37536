#pragma once  // NVRTC has size_t and ptrdiff_t built in
