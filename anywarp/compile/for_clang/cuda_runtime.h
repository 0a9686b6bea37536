#pragma once  // what kernels need of it is built in
