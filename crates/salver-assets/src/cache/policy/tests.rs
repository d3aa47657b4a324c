//! Which keys leave, and that nothing is left of them.

use super::*;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// The uses by key, and the number of times that they were asked for.
#[derive(Default)]
struct Table(RefCell<HashMap<CacheKey, u8>>, Cell<usize>);

impl UseCounts for Table {
    fn uses(&self, key: &CacheKey) -> u8 {
        self.1.set(self.1.get() + 1);
        self.0.borrow().get(key).copied().unwrap_or(0)
    }
    fn set_uses(&self, key: &CacheKey, uses: u8) {
        self.0.borrow_mut().insert(key.clone(), uses);
    }
}

fn key(number: usize) -> CacheKey {
    CacheKey::new(0, &number.to_le_bytes())
}

/// A cache of keys alone, as the engine drives one.
struct Model {
    policy: Policy,
    uses: Table,
}

impl Model {
    fn new(budget: usize) -> Self {
        Model {
            policy: Policy::new(budget),
            uses: Table::default(),
        }
    }

    /// True if it was a hit.
    fn ask(&mut self, name: &str, weight: usize) -> bool {
        let key = CacheKey::new(0, name.as_bytes());
        if self.policy.places.contains_key(&key) {
            let uses = self.uses.uses(&key);
            self.uses.set_uses(&key, MAX_USES.min(uses + 1));
            return true;
        }
        self.uses.set_uses(&key, 0);
        self.policy.insert(&key, weight, false, &self.uses);
        self.check();
        false
    }

    fn check(&self) {
        let policy = &self.policy;
        assert!(policy.weight() <= policy.budget);
        let total: usize = policy.places.values().map(|place| place.weight).sum();
        assert_eq!(policy.weight(), total);
        assert!(policy.ghosts.len() <= policy.len().max(MIN_GHOSTS) + 1);
        let lines = [
            (&policy.small, Queue::Small),
            (&policy.main, Queue::Main),
            (&policy.fileless, Queue::Fileless),
        ];
        for (line, queue) in lines {
            for (position, key) in &line.keys {
                let place = &policy.places[key];
                assert_eq!((place.queue, place.position), (queue, *position));
            }
        }
        let in_lines: usize = lines.iter().map(|(line, _)| line.keys.len()).sum();
        assert_eq!(in_lines, policy.len());
    }
}

#[test]
fn a_scan_does_not_push_out_what_is_in_use() {
    let mut model = Model::new(100);
    for _ in 0..3 {
        (0..50).for_each(|hot| {
            model.ask(&format!("hot{hot}"), 1);
        });
    }
    (0..10_000).for_each(|cold| {
        model.ask(&format!("cold{cold}"), 1);
    });
    let kept = (0..50)
        .filter(|hot| model.ask(&format!("hot{hot}"), 1))
        .count();
    assert!(kept >= 45, "{kept} of 50 survived");
}

#[test]
fn a_key_that_comes_back_is_kept() {
    let mut model = Model::new(100);
    model.ask("again", 1);
    // Pushed out unused by as many as the budget holds and one.
    (0..100).for_each(|other| {
        model.ask(&format!("o{other}"), 1);
    });
    assert!(!model.ask("again", 1));
    let key = CacheKey::new(0, b"again");
    assert_eq!(model.policy.places[&key].queue, Queue::Main);
}

#[test]
fn weights_change_in_place_and_what_is_too_heavy_leaves() {
    let mut model = Model::new(100);
    model.ask("a", 10);
    let key = CacheKey::new(0, b"a");
    assert!(model.policy.insert(&key, 90, false, &model.uses).is_empty());
    assert_eq!((model.policy.weight(), model.policy.len()), (90, 1));
    let leaving = model.policy.insert(&key, 101, false, &model.uses);
    assert_eq!(leaving, std::slice::from_ref(&key));
    assert_eq!((model.policy.weight(), model.policy.len()), (0, 0));
}

#[test]
fn clearing_leaves_nothing_that_could_pile_up() {
    let mut model = Model::new(100);
    for _ in 0..10 {
        (0..50).for_each(|number| {
            model.ask(&number.to_string(), 1);
        });
        assert_eq!(model.policy.len(), 50);
        model.policy.clear();
        assert_eq!((model.policy.weight(), model.policy.len()), (0, 0));
        model.check();
    }
}

#[test]
fn removal_leaves_no_node_that_counts() {
    let mut model = Model::new(3);
    for name in ["a", "b", "c"] {
        model.ask(name, 1);
    }
    let key = CacheKey::new(0, b"a");
    model.policy.remove(&key);
    model.ask("a", 1);
    model.ask("d", 1);
    model.check();
    assert_eq!(model.policy.len(), 3);
}

/// An hour of files that are opened, closed for want of use, changed and let go of: the budget is
/// never reached, so that nothing is ever evicted.
#[test]
fn keys_that_come_and_go_leave_nothing_behind() {
    let mut model = Model::new(10_000);
    for round in 0..200 {
        for number in 0..500 {
            model.policy.insert(&key(number), 1, false, &model.uses);
        }
        for number in (0..500).filter(|number| (number + round) % 50 != 0) {
            model.policy.remove(&key(number));
        }
    }
    model.check();
    assert_eq!(model.policy.len(), 10);
}

/// The cost of an insert where everything is in use: as many keys looked at, however many there are.
#[test]
fn an_insert_costs_the_same_whatever_the_number_of_keys() {
    for count in [1_000, 200_000] {
        let mut model = Model::new(count);
        // Half of them have come back before, and are in main; all are used all the time.
        for number in 0..count {
            let key = key(number);
            if number % 2 == 0 {
                let hash = model.policy.hash(&key);
                model.policy.ghost_set.insert(hash);
            }
            model.uses.set_uses(&key, MAX_USES);
            model.policy.insert(&key, 1, false, &model.uses);
        }
        for new in count..count + 100 {
            let before = model.uses.1.get();
            let leaving = model.policy.insert(&key(new), 1, false, &model.uses);
            let looked_at = model.uses.1.get() - before;
            assert_eq!(leaving.len(), 1);
            assert!(
                looked_at <= 2 * SECOND_CHANCES + 1,
                "{looked_at} of {count}"
            );
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]
    #[test]
    fn the_budget_holds_whatever_is_asked(
        asks in proptest::collection::vec((0u8..40, 0usize..30, proptest::bool::ANY), 1..300),
        budget in 0usize..200,
    ) {
        let mut model = Model::new(budget);
        for (name, weight, is_fileless) in asks {
            let name = CacheKey::new(0, &[name]);
            model.policy.insert(&name, weight, is_fileless, &model.uses);
            model.check();
        }
    }
}

#[test]
fn paths_without_a_file_share_a_sixteenth_and_push_no_file_out() {
    let mut model = Model::new(1600);
    (0..500).for_each(|file| {
        model.ask(&format!("file{file}"), 1);
    });
    let insert = |model: &mut Model, number: usize, is_fileless| {
        let leaving = model
            .policy
            .insert(&key(number), 1, is_fileless, &model.uses);
        model.check();
        leaving.len()
    };
    let left: usize = (0..1000)
        .map(|number| insert(&mut model, number, true))
        .sum();
    assert_eq!((left, model.policy.fileless.weight), (900, 100));
    assert!((0..500).all(|file| model.ask(&format!("file{file}"), 1)));
    // One that is asked for again and again stays.
    let asked = key(999);
    for number in 1000..3000 {
        model.uses.set_uses(&asked, MAX_USES);
        insert(&mut model, number, true);
    }
    assert!(model.policy.places.contains_key(&asked));
    // A file comes, and goes again.
    insert(&mut model, 999, false);
    let (fileless, small) = (model.policy.fileless.weight, model.policy.small.weight);
    assert_eq!((fileless, small), (99, 501));
    insert(&mut model, 999, true);
    assert_eq!(
        (model.policy.fileless.weight, model.policy.small.weight),
        (100, 500)
    );
    // One that is heavier than the share is kept alone.
    model.uses.set_uses(&asked, 0);
    model.policy.insert(&key(5000), 300, true, &model.uses);
    model.check();
    assert_eq!(model.policy.fileless.weight, 300);
    assert!((0..500).all(|file| model.ask(&format!("file{file}"), 1)));
}
