//! The explorer: breadth first over canonical states, so that the first history found is a shortest one.

use std::hash::{BuildHasher, Hasher};

use hashbrown::HashTable;

use super::actions::ModelAction;
use super::rules::Model;
use super::state::{Law, Moment};

/// More states than any exploration of the suite has; a model that outgrows it is reported instead of filling the memory.
const STATES_MAX: usize = 40_000_000;

/// What an exploration came to.
pub(super) struct Explored {
    pub(super) states: usize,
    pub(super) steps: usize,
    /// The law that is broken, and the shortest history that breaks it.
    pub(super) found: Option<(Law, Vec<ModelAction>)>,
}

/// A state and how it was reached first.
struct Node {
    state: Moment,
    parent: u32,
    action: ModelAction,
    /// Whether the workers changed places after the action.
    is_exchanged: bool,
}

/// The states reached so far. They are kept once; the table holds their numbers.
struct Space {
    nodes: Vec<Node>,
    table: HashTable<u32>,
    /// Steps without faults, for the question what can still be reached.
    edges: Vec<(u32, u32)>,
    steps: usize,
}

impl Space {
    /// The number of a state, and whether it is new.
    fn insert(&mut self, state: &Moment, parent: u32, action: ModelAction) -> (u32, bool) {
        let (state, is_exchanged) = state.canonical();
        let hash = Mixer::hash(&state);
        if let Some(number) = self.table.find(hash, |number| self.nodes[*number as usize].state == state) {
            return (*number, false);
        }
        let number = u32::try_from(self.nodes.len()).expect("there are fewer states than STATES_MAX");
        self.nodes.push(Node { state, parent, action, is_exchanged });
        let nodes = &self.nodes;
        self.table.insert_unique(hash, number, |number| Mixer::hash(&nodes[*number as usize].state));
        (number, true)
    }

    /// The actions that led to a state, with the names that the workers had at the beginning.
    fn history(&self, mut number: u32) -> Vec<ModelAction> {
        let mut path = Vec::new();
        while number != 0 {
            path.push(number);
            number = self.nodes[number as usize].parent;
        }
        let mut is_exchanged = self.nodes[0].is_exchanged;
        let mut history = Vec::new();
        for number in path.into_iter().rev() {
            let node = &self.nodes[number as usize];
            history.push(if is_exchanged { node.action.exchange_workers() } else { node.action });
            is_exchanged ^= node.is_exchanged;
        }
        history
    }

    /// The first state from which nothing leads to the end without a fault.
    fn stuck(&self, is_done: impl Fn(&Moment) -> bool) -> Option<u32> {
        let mut starts = vec![0_u32; self.nodes.len() + 1];
        for (_, to) in &self.edges {
            starts[*to as usize + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut next = starts.clone();
        let mut before = vec![0_u32; self.edges.len()];
        for (from, to) in &self.edges {
            before[next[*to as usize] as usize] = *from;
            next[*to as usize] += 1;
        }
        let mut can_end: Vec<bool> = self.nodes.iter().map(|node| is_done(&node.state)).collect();
        let mut open: Vec<u32> =
            (0..).zip(&can_end).filter(|(_, can_end)| **can_end).map(|(number, _)| number).collect();
        while let Some(number) = open.pop() {
            let span = starts[number as usize] as usize..starts[number as usize + 1] as usize;
            for from in &before[span] {
                if !std::mem::replace(&mut can_end[*from as usize], true) {
                    open.push(*from);
                }
            }
        }
        (0..).zip(can_end).find(|(_, can_end)| !can_end).map(|(number, _)| number)
    }
}

impl Model {
    /// Explores everything that can happen, up to the first broken law.
    pub(super) fn explore(&self) -> Explored {
        let mut space = Space { nodes: Vec::new(), table: HashTable::new(), edges: Vec::new(), steps: 0 };
        space.insert(&self.initial(), 0, ModelAction::Tick);
        let mut actions = Vec::new();
        let mut next = 0;
        while let Some(state) = space.nodes.get(next).map(|node| node.state) {
            assert!(next < STATES_MAX, "{}: more than {STATES_MAX} states", self.scope.name);
            let from = u32::try_from(next).expect("as asserted");
            self.actions(&state, &mut actions);
            for action in actions.drain(..) {
                space.steps += 1;
                let after = self.after(&state, action);
                let (number, is_new) = space.insert(&after, from, action);
                if let Some(law) = after.broken.filter(|_| is_new) {
                    return space.ended(Some((law, number)));
                }
                if !action.is_fault() {
                    space.edges.push((from, number));
                }
            }
            next += 1;
        }
        let stuck = if self.watched.is_none_or(|watched| watched == Law::Progress) {
            space.stuck(|state| self.is_done(state))
        } else {
            None
        };
        space.ended(stuck.map(|number| (Law::Progress, number)))
    }

    /// A history as text: each action, and the accounts after it.
    pub(super) fn tell(&self, history: &[ModelAction]) -> String {
        let mut state = self.initial();
        let mut lines = Vec::new();
        for (number, action) in history.iter().enumerate() {
            state = self.after(&state, *action);
            let accounts: Vec<String> = self.accounts().map(|account| state.accounts[account].to_string()).collect();
            lines.push(format!("{:>4}. {:<28} {}", number + 1, format!("{action:?}"), accounts.join("  ||  ")));
        }
        lines.join("\n")
    }
}

impl Space {
    fn ended(self, found: Option<(Law, u32)>) -> Explored {
        Explored {
            states: self.nodes.len(),
            steps: self.steps,
            found: found.map(|(law, number)| (law, self.history(number))),
        }
    }
}

/// Mixes the small numbers of a state. With the standard hasher an exploration takes 1.7 times as long in a build for tests.
#[derive(Default)]
struct Mixer(u64);

impl Mixer {
    fn hash(state: &Moment) -> u64 {
        MixerOf.hash_one(state)
    }
}

struct MixerOf;

impl BuildHasher for MixerOf {
    type Hasher = Mixer;

    fn build_hasher(&self) -> Mixer {
        Mixer::default()
    }
}

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        // The table looks at the upper bits too.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u8(*byte));
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
