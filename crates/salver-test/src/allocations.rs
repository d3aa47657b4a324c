//! An allocator that counts, for test programs of their own: a program has one allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};

/// The system's allocator, counted: `#[global_allocator] static ALLOCATOR: Counting = Counting;`
#[derive(Debug)]
pub struct Counting;

thread_local! {
    static BY_THIS_THREAD: Cell<u64> = const { Cell::new(0) };
}

/// The id of the thread that is watched; 0 is none.
static WATCHED: AtomicI32 = AtomicI32::new(0);
static BY_WATCHED: AtomicU64 = AtomicU64::new(0);
static HELD: AtomicUsize = AtomicUsize::new(0);

/// The allocations of this thread so far.
pub fn by_this_thread() -> u64 {
    BY_THIS_THREAD.with(Cell::get)
}

/// The bytes that the process holds.
pub fn held_bytes() -> usize {
    HELD.load(Ordering::Relaxed)
}

/// The allocations of the thread of this id while `act` runs, which another thread does.
pub fn by_thread(id: i32, act: impl FnOnce()) -> u64 {
    BY_WATCHED.store(0, Ordering::Relaxed);
    WATCHED.store(id, Ordering::Relaxed);
    act();
    WATCHED.store(0, Ordering::Relaxed);
    BY_WATCHED.load(Ordering::Relaxed)
}

fn count(length: usize) {
    HELD.fetch_add(length, Ordering::Relaxed);
    BY_THIS_THREAD.with(|count| count.set(count.get() + 1));
    let watched = WATCHED.load(Ordering::Relaxed);
    if watched != 0 && rustix::thread::gettid().as_raw_pid() == watched {
        BY_WATCHED.fetch_add(1, Ordering::Relaxed);
    }
}

#[allow(unsafe_code, reason = "an allocator is nothing else")]
// SAFETY: every call is passed on to the system's allocator as it is; counting touches only atomics and a
// thread-local cell without a destructor, and asks the kernel for a number: it neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on, and `pointer` came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, length: usize) -> *mut u8 {
        count(length);
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on, and `pointer` came from `System`.
        unsafe { System.realloc(pointer, layout, length) }
    }
}
