#pragma once  // NVRTC has bool, true and false built in
