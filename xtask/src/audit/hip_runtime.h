// Stands in for the header of HIP that generated kernels include, so that they compile without ROCm: what they use of
// it, and nothing else. Only the instructions are looked at; nothing compiled with it runs, so functions that only the
// probe calls need not be right.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(units) __attribute__((amdgpu_flat_work_group_size(units, units)))
#define __align__(bytes) __attribute__((aligned(bytes)))
typedef unsigned char uchar;
struct uint3 {
    unsigned x, y, z;
};
static __device__ inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return uint3{x, y, z}; }
#define PLACE(name, a, b, c) \
    struct name##_t { \
        __declspec(property(get = get_x)) unsigned x; \
        __declspec(property(get = get_y)) unsigned y; \
        __declspec(property(get = get_z)) unsigned z; \
        __device__ unsigned get_x() const { return a; } \
        __device__ unsigned get_y() const { return b; } \
        __device__ unsigned get_z() const { return c; } \
    }; \
    static __device__ const name##_t name = {};
PLACE(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z())
PLACE(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z())
PLACE(blockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(), __builtin_amdgcn_workgroup_size_z())
PLACE(gridDim, __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(), __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z())
static __device__ inline void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
static __device__ inline int __clz(unsigned x) { return x == 0 ? 32 : __builtin_clz(x); }
static __device__ inline unsigned __umulhi(unsigned a, unsigned b) { return ((unsigned long long)a * b) >> 32; }
static __device__ inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static __device__ inline float sqrt(float x) { return __builtin_sqrtf(x); }
#define ATOMIC(name, builtin) \
    static __device__ inline unsigned name(unsigned* to, unsigned with) { return builtin(to, with, __ATOMIC_RELAXED); }
static __device__ inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
static __device__ inline unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }
static __device__ inline float exp(float x) { return __builtin_amdgcn_sinf(x); }
static __device__ inline float log(float x) { return __builtin_amdgcn_cosf(x); }
static __device__ inline float min(float a, float b) { return __builtin_fminf(a, b); }
static __device__ inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
static __device__ inline float abs(float x) { return __builtin_fabsf(x); }
ATOMIC(atomicAdd, __atomic_fetch_add)
ATOMIC(atomicExch, __atomic_exchange_n)
ATOMIC(atomicMin, __atomic_fetch_min)
ATOMIC(atomicMax, __atomic_fetch_max)
