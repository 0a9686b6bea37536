#pragma once
#if __has_include_next(<device_launch_parameters.h>)  // what kernels need of it, NVRTC has built in
#include_next <device_launch_parameters.h>
#endif
