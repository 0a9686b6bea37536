#pragma once  // NVRTC has built in what kernels need of it
