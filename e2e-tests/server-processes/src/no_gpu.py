# Python imports a module of this name at start, before the program. LMCache up to 0.4.5 does not start without an NVIDIA
# driver: it initialises CUDA and pins memory. Both calls do nothing here; all else is the release's own.
import torch


class _CudaRuntime:
    def cudaHostRegister(self, *_):
        return 0

    def cudaHostUnregister(self, *_):
        return 0


torch.cuda.init = lambda: None
torch.cuda.cudart = _CudaRuntime
