#pragma once  // NVRTC has clock built in
