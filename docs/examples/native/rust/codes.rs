//! SimHash codes of texts and their Hamming distance, as a shared library for ctypes.

// Older compilers take the body of an unsafe function for an unsafe block.
#![allow(unused_unsafe)]

use std::os::raw::c_void;

mod lshfast {
    include!(concat!(env!("LSHFAST_INCLUDE"), "/lshfast.rs"));
}

/// Return the code of 64 bits of the word shingles of a text; u64::MAX if it has no words.
fn code_of(text: &str, kernels: &lshfast::Kernels) -> u64 {
    let (mut constant, mut code) = (0, 0);
    let mut tokens = vec![0; text.len() / 2 + 1];
    // Each buffer has the size that lshfast.h names, and a str is UTF-8.
    unsafe {
        let mut scratch = vec![0; (kernels.scratch_of_shingles)()];
        let n = (kernels.word_tokens)(text.as_ptr(), text.len(), 2, 1, scratch.as_mut_ptr(), tokens.as_mut_ptr());
        (kernels.draw_simhash)(1, 1, &mut constant);
        (kernels.sketch_simhash)(tokens.as_ptr(), n, &constant, 1, &mut code);
    }
    code
}

/// Return the number of bits in which the codes of two texts differ: 65 if either has no words, and -1 if `table` cannot
/// be used or the bytes are not UTF-8.
///
/// # Safety
/// `table` is the pointer of the capsule `lshfast.kernels.native.TABLE`; `a` and `b` point to `n` and `m` bytes.
#[no_mangle]
pub unsafe extern "C" fn distance(table: *const c_void, a: *const u8, n: usize, b: *const u8, m: usize) -> i32 {
    let kernels = match unsafe { lshfast::Kernels::from_pointer(table) } {
        Ok(kernels) => kernels,
        Err(why) => {
            eprintln!("{why}");
            return -1;
        }
    };
    let texts = unsafe { (std::slice::from_raw_parts(a, n), std::slice::from_raw_parts(b, m)) };
    match (std::str::from_utf8(texts.0), std::str::from_utf8(texts.1)) {
        (Ok(left), Ok(right)) => {
            let (left, right) = (code_of(left, kernels), code_of(right, kernels));
            unsafe { (kernels.distance_of_codes)(&left, &right, 64) as i32 }
        }
        _ => -1,
    }
}
