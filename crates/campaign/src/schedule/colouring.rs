//! Edge colouring with capacities: disjoint rounds of all pairs, none of which exceeds an uplink.
//!
//! Sets of members are bits, so that the search for a partner examines sixty-four members at
//! once: a thousand hosts need some ten million such words.

use crate::pattern::{Cell, PairDirections, ScheduleMembers};

/// Bits of a word.
const BITS: usize = 64;
/// Candidates that are compared for a place in a round.
const COMPARED: usize = 12;

/// Rounds of all pairs, and the number of words examined. `order` is the random order of
/// members.
pub(super) fn rounds(
    members: &ScheduleMembers,
    directions: PairDirections,
    order: &[usize],
) -> (Vec<Vec<Cell>>, u64) {
    let mut colouring = Colouring::new(members, directions, order);
    let mut rounds = Vec::new();
    while colouring.left > 0 {
        let round = colouring.round();
        if round.is_empty() {
            // Each single cell fits: not reachable.
            break;
        }
        rounds.push(round);
    }
    (rounds, colouring.examined)
}

/// A set of members.
type Bits = Vec<u64>;

fn set(bits: &mut [u64], at: usize) {
    if let Some(word) = bits.get_mut(at / BITS) {
        *word |= 1 << (at % BITS);
    }
}

fn clear(bits: &mut [u64], at: usize) {
    if let Some(word) = bits.get_mut(at / BITS) {
        *word &= !(1 << (at % BITS));
    }
}

/// The members of a set, from the word `from` on and around.
fn ones(bits: &[u64], from: usize) -> impl Iterator<Item = usize> + '_ {
    let places = (from..bits.len()).chain(0..from.min(bits.len()));
    places.flat_map(|at| {
        let mut word = bits.get(at).copied().unwrap_or(0);
        std::iter::from_fn(move || {
            let bit = word.trailing_zeros() as usize;
            word &= word.wrapping_sub(1);
            (bit < BITS).then_some(at * BITS + bit)
        })
    })
}

/// Uplinks of one kind. The last group is that of members without a limit.
struct UplinkUse {
    /// Group of each place.
    group: Vec<usize>,
    /// Places of each group.
    places: Vec<Bits>,
    /// Capacity of each group in flows.
    flows: Vec<usize>,
    /// Cells left, and flows of this round, out of each group and into it.
    left: [Vec<usize>; 2],
    used: [Vec<usize>; 2],
    /// Places of groups without space for flows out of it, and into it.
    closed: [Bits; 2],
}

impl UplinkUse {
    /// Rounds that the cells left of a group need.
    fn need(&self, group: usize, way: usize) -> usize {
        self.left[way][group].div_ceil(self.flows[group])
    }

    fn has_room(&self, group: usize, way: usize) -> bool {
        self.used[way][group] < self.flows[group]
    }

    /// Counts a cell out of a group, or into it.
    fn take(&mut self, group: usize, way: usize) {
        self.left[way][group] = self.left[way][group].saturating_sub(1);
        self.used[way][group] += 1;
        if !self.has_room(group, way) {
            let closed = self.closed[way].iter_mut().zip(&self.places[group]);
            closed.for_each(|(closed, places)| *closed |= places);
        }
    }
}

/// Out of a group, or away from a member.
const OUT: usize = 0;
/// The other way.
const INTO: usize = 1;

/// The cells left. ScheduleMembers are known by their place: those of a group are neighbours.
struct Colouring {
    directions: PairDirections,
    /// Member of each place, and its host.
    members: Vec<usize>,
    host: Vec<usize>,
    /// Places of each host.
    at_host: Vec<Vec<usize>>,
    /// Partners left of each place: those it sends to, and those it receives from. Pairs
    /// together are in the first alone.
    partners: [Vec<Bits>; 2],
    partners_left: [Vec<usize>; 2],
    /// Cells left of each host.
    host_left: Vec<usize>,
    uplinks: Vec<UplinkUse>,
    /// Free places of this round.
    free: Bits,
    /// Cells left.
    left: usize,
    /// Number of rounds so far.
    round: usize,
    examined: u64,
}

impl Colouring {
    fn new(members: &ScheduleMembers, directions: PairDirections, order: &[usize]) -> Self {
        let group = |kind: usize, member: usize| {
            let uplinks = members.uplinks.get(kind)?;
            uplinks.groups.get(member).copied().flatten()
        };
        let mut places = order.to_vec();
        let kinds = members.uplinks.len();
        places.sort_by_key(|member| {
            let kinds = (0..kinds).rev();
            kinds.map(|kind| group(kind, *member)).collect::<Vec<_>>()
        });
        let count = places.len();
        let words = count.div_ceil(BITS);
        let empty = || vec![0; words];
        let mut numbers: Vec<usize> = places.iter().map(|member| members.host(*member)).collect();
        let of_hosts = numbers.clone();
        numbers.sort_unstable();
        numbers.dedup();
        let host = |number: &usize| numbers.binary_search(number).unwrap_or(0);
        let host: Vec<usize> = of_hosts.iter().map(host).collect();
        let mut at_host = vec![Vec::new(); numbers.len()];
        for (place, host) in host.iter().enumerate() {
            at_host[*host].push(place);
        }
        let uplinks = members.uplinks.iter().enumerate().map(|(kind, uplinks)| {
            let groups = uplinks.flows.len();
            let of = |member: &usize| group(kind, *member).unwrap_or(groups);
            let group: Vec<usize> = places.iter().map(of).collect();
            let mut of_group = vec![empty(); groups + 1];
            for (place, group) in group.iter().enumerate() {
                set(&mut of_group[*group], place);
            }
            let flows = uplinks.flows.iter().map(|flows| flows.get());
            let none = vec![0; groups + 1];
            UplinkUse {
                group,
                places: of_group,
                flows: flows.chain([usize::MAX]).collect(),
                left: [none.clone(), none.clone()],
                used: [none.clone(), none],
                closed: [empty(), empty()],
            }
        });
        let mut colouring = Self {
            directions,
            uplinks: uplinks.collect(),
            members: places,
            host_left: vec![0; at_host.len()],
            host,
            at_host,
            partners: [vec![empty(); count], vec![empty(); count]],
            partners_left: [vec![0; count], vec![0; count]],
            free: empty(),
            left: 0,
            round: 0,
            examined: 0,
        };
        colouring.fill(members);
        colouring
    }

    /// Adds all cells that are possible.
    fn fill(&mut self, members: &ScheduleMembers) {
        let mut sends = vec![true; members.count];
        for member in &members.receive_only {
            if let Some(sends) = sends.get_mut(*member) {
                *sends = false;
            }
        }
        let count = self.members.len();
        let sends: Vec<bool> = self.members.iter().map(|member| sends[*member]).collect();
        for from in 0..count {
            for to in 0..count {
                let is_there = match self.directions {
                    PairDirections::Separate => from != to && sends[from],
                    PairDirections::Together => from < to && (sends[from] || sends[to]),
                };
                if is_there {
                    self.change(from, to, true);
                }
            }
        }
    }

    /// Adds or removes a cell, or a pair together.
    fn change(&mut self, from: usize, to: usize, add: bool) {
        let step = |count: &mut usize| *count = if add { *count + 1 } else { *count - 1 };
        let mark = if add { set } else { clear };
        let ways = match self.directions {
            PairDirections::Separate => [(OUT, from, to), (INTO, to, from)],
            PairDirections::Together => [(OUT, from, to), (OUT, to, from)],
        };
        for (way, place, other) in ways {
            mark(&mut self.partners[way][place], other);
            step(&mut self.partners_left[way][place]);
        }
        step(&mut self.left);
        let hosts = [self.host[from], self.host[to]];
        step(&mut self.host_left[hosts[0]]);
        if hosts[0] != hosts[1] {
            step(&mut self.host_left[hosts[1]]);
        }
        for uplinks in &mut self.uplinks {
            let groups = [uplinks.group[from], uplinks.group[to]];
            if groups[0] == groups[1] {
                continue;
            }
            for (group, way) in uses(self.directions, groups) {
                if add {
                    uplinks.left[way][group] += 1;
                } else {
                    uplinks.take(group, way);
                }
            }
        }
    }

    /// Makes the next round.
    fn round(&mut self) -> Vec<Cell> {
        self.free.fill(u64::MAX);
        for uplinks in &mut self.uplinks {
            uplinks.used.iter_mut().for_each(|used| used.fill(0));
            uplinks.closed.iter_mut().for_each(|closed| closed.fill(0));
        }
        let preferred = [self.by_need(OUT), self.by_need(INTO)];
        let mut round = Vec::new();
        for place in self.by_work() {
            let [out, into] = [OUT, INTO].map(|way| self.partners_left[way][place]);
            let ways = if into > out { [INTO, OUT] } else { [OUT, INTO] };
            let mut partners = ways.iter().filter_map(|way| {
                let groups = &preferred[1 - *way];
                let partner = self.partner(place, *way, groups)?;
                Some(if *way == OUT {
                    (place, partner)
                } else {
                    (partner, place)
                })
            });
            if let Some((from, to)) = partners.next() {
                self.take(from, to, &mut round);
            }
        }
        self.round += 1;
        round
    }

    /// The places, those of the hosts and uplinks with the most work left first.
    fn by_work(&self) -> Vec<usize> {
        let work = |place: usize| {
            let of_host = self.host_left[self.host[place]];
            let needs = self.uplinks.iter().map(|uplinks| {
                let group = uplinks.group[place];
                uplinks.need(group, OUT).max(uplinks.need(group, INTO))
            });
            (needs.max().unwrap_or(0).max(of_host), of_host)
        };
        let mut places: Vec<(usize, usize, usize)> = (0..self.members.len())
            .filter(|place| self.host_left[self.host[*place]] > 0)
            .map(|place| (work(place).0, work(place).1, place))
            .collect();
        let turn = self.round;
        let count = self.members.len();
        // Equals take turns.
        places.sort_unstable_by_key(|(work, of_host, place)| {
            (
                usize::MAX - work,
                usize::MAX - of_host,
                (place + turn) % count,
            )
        });
        places.into_iter().map(|(_, _, place)| place).collect()
    }

    /// Groups of the narrowest uplinks, those with the most work left in this way first.
    fn by_need(&self, way: usize) -> Vec<usize> {
        let Some(uplinks) = self.uplinks.first() else {
            return Vec::new();
        };
        let mut groups: Vec<usize> = (0..uplinks.flows.len()).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(uplinks.need(*group, way)));
        groups
    }

    /// A free partner of a free place: in another group, if the uplinks have capacity left, and with as
    /// much work left as possible.
    fn partner(&mut self, place: usize, way: usize, preferred: &[usize]) -> Option<usize> {
        if self.partners_left[way][place] == 0 || !self.is_free(place) {
            return None;
        }
        let candidates = self.candidates(place, way);
        if candidates.iter().all(|word| *word == 0) {
            return None;
        }
        let from = self.round % candidates.len().max(1);
        let best = |bits: &[u64]| {
            let some = ones(bits, from).take(COMPARED);
            some.max_by_key(|place| self.host_left[self.host[*place]])
        };
        let Some(uplinks) = self.uplinks.first() else {
            return best(&candidates);
        };
        let own = uplinks.group[place];
        let others = preferred.iter().filter(|group| **group != own);
        let mut groups = others.chain([&own]);
        groups.find_map(|group| {
            let both = candidates.iter().zip(&uplinks.places[*group]);
            let both: Bits = both.map(|(one, other)| one & other).collect();
            best(&both)
        })
    }

    fn is_free(&self, place: usize) -> bool {
        self.free[place / BITS] >> (place % BITS) & 1 == 1
    }

    /// The partners left of a place that are free, and to which the uplinks have capacity left.
    fn candidates(&mut self, place: usize, way: usize) -> Bits {
        let partners = self.partners[way][place].iter().zip(&self.free);
        let mut found: Bits = partners.map(|(left, free)| left & free).collect();
        let ways: &[usize] = match self.directions {
            PairDirections::Separate => &[way],
            PairDirections::Together => &[OUT, INTO],
        };
        for uplinks in &self.uplinks {
            let own = uplinks.group[place];
            let has_room = ways.iter().all(|way| uplinks.has_room(own, *way));
            for (at, word) in found.iter_mut().enumerate() {
                let inside = uplinks.places[own][at];
                let closed = ways.iter().map(|way| uplinks.closed[1 - *way][at]);
                let outside = if has_room {
                    !closed.fold(0, |all, one| all | one)
                } else {
                    0
                };
                *word &= inside | outside;
            }
        }
        self.examined += found.len() as u64 * (1 + self.uplinks.len() as u64);
        found
    }

    /// Moves a cell, or a pair together, to a round.
    fn take(&mut self, from: usize, to: usize, round: &mut Vec<Cell>) {
        self.change(from, to, false);
        for place in [from, to] {
            for place in &self.at_host[self.host[place]] {
                clear(&mut self.free, *place);
            }
        }
        let cell = Cell {
            from: self.members[from],
            to: self.members[to],
        };
        round.push(cell);
        if self.directions == PairDirections::Together {
            round.push(cell.back());
        }
    }
}

/// The uplinks that a cell between two groups uses: a group, and out of it or into it.
fn uses(
    directions: PairDirections,
    [from, to]: [usize; 2],
) -> impl Iterator<Item = (usize, usize)> {
    let there = [(from, OUT), (to, INTO)];
    let back = [(to, OUT), (from, INTO)];
    let together = directions == PairDirections::Together;
    there
        .into_iter()
        .chain(back.into_iter().filter(move |_| together))
}
