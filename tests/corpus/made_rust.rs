//! A kernel of the corpus in Rust: polynomials of n coefficients, by Horner. tests/corpus/made_rust.py
//! compiles it. It has what it needs of the core library, which need not be there for this target.
#![feature(no_core, lang_items, intrinsics, abi_ptx, link_llvm_intrinsics)]
#![no_core]
#![crate_type = "lib"]
#![allow(internal_features, improper_ctypes)]

#[lang = "pointee_sized"]
pub trait PointeeSized {}
#[lang = "meta_sized"]
pub trait MetaSized: PointeeSized {}
#[lang = "sized"]
pub trait Sized: MetaSized {}
#[lang = "copy"]
pub trait Copy {}
impl Copy for i32 {}
impl Copy for u32 {}
impl Copy for f32 {}
impl Copy for usize {}
impl<T: PointeeSized> Copy for *const T {}
impl<T: PointeeSized> Copy for *mut T {}

macro_rules! operator {
    ($lang:literal $name:ident $call:ident $sign:tt $($type:ty)*) => {
        #[lang = $lang]
        pub trait $name<R = Self> { type Output; fn $call(self, right: R) -> Self::Output; }
        $(impl $name for $type {
            type Output = $type;
            #[inline(always)]
            fn $call(self, right: $type) -> $type { self $sign right }
        })*
    };
}
operator!("add" Add add + i32 f32 usize);
operator!("mul" Mul mul * i32 f32 usize);
#[lang = "eq"]
pub trait PartialEq<R = Self> { fn eq(&self, right: &R) -> bool; fn ne(&self, right: &R) -> bool; }
#[lang = "partial_ord"]
pub trait PartialOrd<R = Self> {
    fn lt(&self, right: &R) -> bool;
    fn le(&self, right: &R) -> bool;
    fn gt(&self, right: &R) -> bool;
    fn ge(&self, right: &R) -> bool;
}
impl PartialOrd for i32 {
    #[inline(always)]
    fn lt(&self, right: &i32) -> bool { *self < *right }
    #[inline(always)]
    fn le(&self, right: &i32) -> bool { *self <= *right }
    #[inline(always)]
    fn gt(&self, right: &i32) -> bool { *self > *right }
    #[inline(always)]
    fn ge(&self, right: &i32) -> bool { *self >= *right }
}
#[lang = "legacy_receiver"]
pub trait LegacyReceiver {}
impl<T: PointeeSized> LegacyReceiver for &T {}

#[rustc_intrinsic]
pub unsafe fn arith_offset<T>(to: *const T, by: isize) -> *const T;

unsafe extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"]
    fn thread() -> i32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.x"]
    fn block() -> i32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.x"]
    fn threads() -> i32;
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn polynomials(c: *const f32, x: *const f32, y: *mut f32, n: i32) {
    let i = block() * threads() + thread();
    let value = *arith_offset(x, i as isize);
    let mut sum = 0.0f32;
    let mut k = 0;
    while k < n {
        sum = sum * value + *arith_offset(c, k as isize);
        k = k + 1;
    }
    *(arith_offset(y as *const f32, i as isize) as *mut f32) = sum;
}
