//! What went wrong on a device where no caller was looking.
//!
//! Runtimes do the work on a thread of their own, some time after the call that asked for it, and some of them let a
//! result be read although the kernel that was to fill it never ran. So whatever fails is written down here, and nothing
//! is read from a device before this list was looked at.
//!
//! **Invariant:** a thread whose work may have been hit by a fault is told of it before it gets a result. A fault does not
//! say whose work it hit, so every thread that had begun work before it is told, once each.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Faults that are kept; of more, the oldest are forgotten, though not that they happened.
const KEPT: usize = 32;

/// Names of primitives that a thread remembers between two looks.
const NAMES: usize = 8;

/// One failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Memory ran out.
    OutOfMemory(String),
    /// A kernel was refused by a compiler, or asks for more than the device has.
    Compile(String),
    /// The device is gone, with all that was on it.
    Lost(String),
    /// Anything else.
    Failed(String),
}

/// The faults of one device.
#[derive(Debug)]
pub(crate) struct Faults {
    /// Tells this device from others in what threads remember.
    id: u64,
    /// Faults so far; read without the lock, because every launch asks.
    count: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    recent: VecDeque<Fault>,
    /// Faults that somebody was told of; a thread that begins now is not told of these.
    told: u64,
    lost: Option<String>,
}

/// What one thread remembers of one device.
struct Seen {
    id: u64,
    /// Faults that this thread knows of.
    known: u64,
    since: Since,
}

/// What a thread did since it last looked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Since {
    /// Primitives that it launched, and transfers; the first few names.
    launched: Vec<&'static str>,
    /// Bytes of its largest allocation.
    pub(crate) asked: u64,
}

impl Since {
    /// The names, for an error.
    pub(crate) fn names(&self) -> String {
        self.launched.join(", ")
    }
}

thread_local! {
    static SEEN: RefCell<Vec<Seen>> = const { RefCell::new(Vec::new()) };
}

impl Faults {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Faults { id, count: AtomicU64::new(0), state: Mutex::new(State::default()) }
    }

    /// Writes a fault down.
    pub(crate) fn record(&self, fault: Fault) {
        let mut state = self.lock();
        if let Fault::Lost(reason) = &fault {
            state.lost.get_or_insert_with(|| reason.clone());
        }
        if state.recent.len() == KEPT {
            state.recent.pop_front();
        }
        state.recent.push_back(fault);
        self.count.fetch_add(1, Ordering::Release);
    }

    /// Why the device is gone, if it is. This is for good.
    pub(crate) fn lost(&self) -> Option<String> {
        if self.count.load(Ordering::Acquire) == 0 { None } else { self.lock().lost.clone() }
    }

    /// This thread does something under the name `what`, and allocates `bytes` for it: faults from now on concern it.
    pub(crate) fn begin(&self, what: &'static str, bytes: u64) {
        self.with_seen(|Seen { since, .. }| {
            since.asked = since.asked.max(bytes);
            if since.launched.len() < NAMES && !since.launched.contains(&what) {
                since.launched.push(what);
            }
        });
    }

    /// The first fault that this thread was not told of, and what it did since it last asked. A lost device is told of
    /// every time.
    pub(crate) fn next(&self) -> Option<(Fault, Since)> {
        self.with_seen(|seen| {
            let since = std::mem::take(&mut seen.since);
            if self.count.load(Ordering::Acquire) == seen.known {
                return self.lost().map(|reason| (Fault::Lost(reason), since));
            }
            let mut state = self.lock();
            let count = self.count.load(Ordering::Acquire);
            let unknown = count - seen.known;
            seen.known = count;
            state.told = count;
            if let Some(reason) = &state.lost {
                return Some((Fault::Lost(reason.clone()), since));
            }
            let oldest = state.recent.len().saturating_sub(usize::try_from(unknown).unwrap_or(usize::MAX));
            state.recent.get(oldest).map(|fault| (fault.clone(), since))
        })
    }

    fn with_seen<T>(&self, act: impl FnOnce(&mut Seen) -> T) -> T {
        SEEN.with_borrow_mut(|all| {
            let at = all.iter().position(|seen| seen.id == self.id).unwrap_or_else(|| {
                all.push(Seen { id: self.id, known: self.lock().told, since: Since::default() });
                all.len() - 1
            });
            act(&mut all[at])
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing is left half done where a thread may panic while it holds this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn failed(n: usize) -> Fault {
        Fault::Failed(n.to_string())
    }

    fn reason(found: Option<(Fault, Since)>) -> Option<Fault> {
        found.map(|(fault, _)| fault)
    }

    #[test]
    fn the_first_fault_is_told_once_with_what_was_launched() {
        let faults = Faults::new();
        faults.begin("map", 4);
        faults.begin("sum", 16);
        faults.begin("map", 4);
        faults.record(failed(1));
        faults.record(failed(2));
        let (fault, since) = faults.next().expect("there were two");
        assert_eq!((fault, since.names().as_str(), since.asked), (failed(1), "map, sum", 16));
        assert_eq!(faults.next(), None);
        faults.record(failed(3));
        assert_eq!(faults.next(), Some((failed(3), Since::default())));
        assert_eq!(faults.lost(), None);
    }

    #[test]
    fn every_thread_that_had_begun_is_told_and_later_ones_are_not() {
        let faults = Arc::new(Faults::new());
        faults.begin("map", 4);
        let (to_fault, fault) = std::sync::mpsc::channel();
        let (to_look, look) = std::sync::mpsc::channel();
        let other = std::thread::spawn({
            let faults = faults.clone();
            move || {
                faults.begin("sort", 0);
                to_fault.send(()).expect("the test waits");
                look.recv().expect("the test sends");
                (faults.next().map(|(fault, since)| (fault, since.names())), faults.next())
            }
        });
        fault.recv().expect("the thread sends");
        faults.record(failed(1));
        // A buffer may have been handed to a thread that does its first work here, so an untold fault concerns it too.
        let handed = std::thread::spawn({
            let faults = faults.clone();
            move || reason(faults.next())
        });
        assert_eq!(handed.join().expect("no panic"), Some(failed(1)));
        let late = std::thread::spawn({
            let faults = faults.clone();
            move || reason(faults.next())
        });
        assert_eq!(late.join().expect("no panic"), None);
        to_look.send(()).expect("the thread waits");
        assert_eq!(other.join().expect("no panic"), (Some((failed(1), "sort".to_owned())), None));
        assert_eq!(reason(faults.next()), Some(failed(1)));
    }

    #[test]
    fn a_lost_device_stays_lost_for_everybody() {
        let faults = Arc::new(Faults::new());
        faults.record(failed(1));
        faults.record(Fault::Lost("gone".to_owned()));
        faults.record(failed(2));
        for _ in 0..2 {
            assert_eq!(reason(faults.next()), Some(Fault::Lost("gone".to_owned())));
            assert_eq!(faults.lost().as_deref(), Some("gone"));
        }
        let later = std::thread::spawn(move || reason(faults.next()));
        assert_eq!(later.join().expect("no panic"), Some(Fault::Lost("gone".to_owned())));
    }

    #[test]
    fn many_faults_take_no_more_memory_and_are_not_forgotten() {
        let (faults, other) = (Faults::new(), Faults::new());
        faults.begin("map", 4);
        other.begin("map", 0);
        (0..1000).for_each(|n| faults.record(failed(n)));
        assert_eq!(reason(faults.next()), Some(failed(1000 - KEPT)));
        assert_eq!(faults.next(), None);
        assert_eq!(other.next(), None);
    }
}
