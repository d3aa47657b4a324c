//! The queue of a loader: the jobs that wait, and the order in which they are performed.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use super::{DiskKey, LoaderJob};

/// The time after which a running job is taken to wait for a disk. Until then it may be at work, and dozens that hash
/// and decompress at once keep the cores from the loops, and are done no sooner.
const AT_WORK: Duration = Duration::from_millis(10);

/// A queue of jobs, in lanes.
#[derive(Default)]
pub(super) struct JobQueue {
    /// The lanes, by [`LoaderJob::lane`], the most urgent first.
    pub(super) lanes: [Lane; 4],
    running: RunningJobs,
    /// The number of loads that wait in lanes.
    loads: usize,
    /// Loads of files that are not at rest, by when they are to be performed again. They take no thread.
    resting: BTreeMap<(Instant, u64), LoaderJob>,
    /// The number of loads that have ever rested, by which two of the same time are told apart.
    rested: u64,
    /// When the running loads and checks of the last moment began, the oldest first.
    at_work: VecDeque<Instant>,
    /// The most of these: more where loads wait for their disk, which takes no core.
    most_at_work: usize,
    /// The most of these where loads do not.
    least_at_work: usize,
    /// The time until which a thread waits, to see what is due then.
    pub(super) watched_until: Option<Instant>,
    /// The most threads.
    pub(super) most: usize,
    /// The most loads that may wait.
    places: usize,
    /// True if there are several mounts, whose disks are kept apart.
    pub(super) has_several: bool,
    pub(super) idle: usize,
    pub(super) threads: usize,
    pub(super) closed: bool,
}

/// Jobs of one kind.
#[derive(Default)]
pub(super) struct Lane {
    /// The jobs of each disk; the first disk has its turn next.
    disks: VecDeque<(DiskKey, VecDeque<LoaderJob>)>,
    running: RunningJobs,
    /// The number of jobs that may run.
    pub(super) share: usize,
    /// True if its jobs are work for a core rather than for a disk.
    is_work: bool,
}

/// The jobs that run.
#[derive(Default)]
struct RunningJobs {
    count: usize,
    disks: Vec<(DiskKey, usize)>,
}

impl RunningJobs {
    fn begin(&mut self, disk: DiskKey) {
        self.count += 1;
        match self.disks.iter_mut().find(|(of, _)| *of == disk) {
            Some((_, count)) => *count += 1,
            None => self.disks.push((disk, 1)),
        }
    }

    fn end(&mut self, disk: DiskKey) {
        self.count -= 1;
        if let Some(place) = self.disks.iter().position(|(of, _)| *of == disk)
            && let Some((_, count)) = self.disks.get_mut(place)
        {
            *count -= 1;
            if *count == 0 {
                self.disks.swap_remove(place);
            }
        }
    }

    /// The number of jobs that may still be begun, of `most`.
    fn left(&self, most: usize) -> usize {
        most.saturating_sub(self.count)
    }

    /// The number of those that may be of this disk, where there are others: half of what neither it nor others have,
    /// and the last one if it has none.
    fn left_beside_others(&self, disk: DiskKey, most: usize) -> usize {
        let of_disk = self.disks.iter().find(|(of, _)| *of == disk);
        let mine = of_disk.map_or(0, |(_, count)| *count);
        let free = self.left(most);
        free.saturating_sub(mine).div_ceil(2).min(free)
    }
}

impl JobQueue {
    /// A queue for so many threads and loads that wait; `has_several` keeps disks apart. No more than `at_work` loads and
    /// checks are at work at once.
    pub(super) fn new(threads: usize, places: usize, has_several: bool, at_work: usize) -> Self {
        let at_work = at_work.max(1);
        let mut queue = JobQueue {
            most_at_work: at_work,
            least_at_work: at_work,
            ..JobQueue::default()
        };
        queue.limit(threads, places, has_several);
        queue
    }

    /// Sets these limits.
    pub(super) fn limit(&mut self, threads: usize, places: usize, has_several: bool) {
        let threads = threads.max(1);
        let shares = [threads, threads * 3 / 8, threads / 2, threads / 4];
        let are_work = [false, true, false, true];
        for (lane, (share, is_work)) in self.lanes.iter_mut().zip(shares.into_iter().zip(are_work))
        {
            lane.share = share.max(1);
            lane.is_work = is_work;
        }
        self.most = threads;
        self.places = places;
        self.has_several = has_several;
    }

    /// True if one more load for this disk may wait.
    pub(super) fn has_place(&self, disk: DiskKey) -> bool {
        let left = self.places.saturating_sub(self.waiting_loads());
        let of_disk = || {
            let lanes = self.lanes.iter();
            let resting = self.resting.values().filter(|job| job.disk() == disk);
            lanes.map(|lane| lane.waiting(disk)).sum::<usize>() + resting.count()
        };
        left > 0 && (!self.has_several || of_disk() < left)
    }

    /// The number of running jobs.
    pub(super) fn busy(&self) -> usize {
        self.running.count
    }

    /// The number of loads that wait, for a thread or for their file to come to rest.
    pub(super) fn waiting_loads(&self) -> usize {
        self.loads + self.resting.len()
    }

    /// Queues a job that rests until this time. It has a place in any case, as it had one before.
    pub(super) fn rest(&mut self, until: Instant, job: LoaderJob) {
        self.rested += 1;
        self.resting.insert((until, self.rested), job);
    }

    /// Moves the loads that are due into their lanes, and lets others begin beside those that wait for a disk.
    pub(super) fn wake(&mut self, now: Instant) {
        while self
            .at_work
            .front()
            .is_some_and(|began| now.saturating_duration_since(*began) >= AT_WORK)
        {
            self.at_work.pop_front();
        }
        while let Some(first) = self
            .resting
            .first_entry()
            .filter(|first| first.key().0 <= now)
        {
            let job = first.remove();
            self.push(job.lane(), job);
        }
    }

    /// The time at which the next load that rests is due, or one of those at work may be taken to wait for a disk.
    fn due(&self) -> Option<Instant> {
        let resting = self.resting.first_key_value().map(|((due, _), _)| *due);
        let at_work = self.at_work.front().filter(|_| {
            let mut lanes = self.lanes.iter().filter(|lane| lane.is_work);
            self.left_at_work() == 0 && lanes.any(|lane| !lane.disks.is_empty())
        });
        let at_work = at_work.map(|began| *began + AT_WORK);
        resting.into_iter().chain(at_work).min()
    }

    /// The time until which a thread has to wait, if none does so.
    pub(super) fn to_watch(&self) -> Option<Instant> {
        let is_early = |due: &Instant| self.watched_until.is_none_or(|until| *due < until);
        self.due().filter(is_early)
    }

    /// The number of threads that have something to do: one for each job that could run, and one that waits for what
    /// is due next.
    pub(super) fn wanted(&self) -> usize {
        self.runnable() + usize::from(self.to_watch().is_some())
    }

    /// The number of loads and checks that may begin now.
    fn left_at_work(&self) -> usize {
        self.most_at_work.saturating_sub(self.at_work.len())
    }

    /// The number of jobs of a lane that may begin now.
    fn left_in(&self, lane: &Lane) -> usize {
        let left = lane.running.left(lane.share);
        match lane.is_work {
            true => left.min(self.left_at_work()),
            false => left,
        }
    }

    pub(super) fn push(&mut self, number: usize, job: LoaderJob) {
        self.loads += usize::from(matches!(job, LoaderJob::Load(..)));
        let Some(lane) = self.lanes.get_mut(number) else {
            return;
        };
        let disk = job.disk();
        match lane.disks.iter_mut().find(|(of, _)| *of == disk) {
            Some((_, jobs)) => jobs.push_back(job),
            None => lane.disks.push_back((disk, [job].into())),
        }
    }

    /// Takes back the job that was pushed last, if it still waits.
    pub(super) fn pop_last(&mut self, number: usize) -> Option<LoaderJob> {
        let (_, jobs) = self.lanes.get_mut(number)?.disks.back_mut()?;
        let job = jobs.pop_back()?;
        self.loads -= usize::from(matches!(job, LoaderJob::Load(..)));
        Some(job)
    }

    /// The number of jobs of a disk that may still be begun in a lane. One that hangs leaves threads to others, and places in
    /// each lane.
    fn left_for(&self, lane: &Lane, disk: DiskKey) -> usize {
        match self.has_several {
            true => {
                let of_lane = lane.running.left_beside_others(disk, lane.share);
                of_lane.min(self.running.left_beside_others(disk, self.most))
            }
            false => self.running.left(self.most),
        }
    }

    /// The number of jobs that could run now if there were threads.
    pub(super) fn runnable(&self) -> usize {
        let of_lane = |lane: &Lane| {
            let of_disk = |(disk, jobs): &(DiskKey, VecDeque<LoaderJob>)| {
                jobs.len().min(self.left_for(lane, *disk))
            };
            let jobs: usize = lane.disks.iter().map(of_disk).sum();
            jobs.min(self.left_in(lane))
        };
        self.lanes.iter().map(of_lane).sum()
    }

    /// Takes the most urgent job that may run, and its lane.
    pub(super) fn next(&mut self, now: Instant) -> Option<(usize, LoaderJob)> {
        let may_run = |lane: &Lane| {
            let mut disks = lane.disks.iter();
            let has_threads = |(disk, jobs): &(DiskKey, VecDeque<LoaderJob>)| {
                !jobs.is_empty() && self.left_for(lane, *disk) > 0
            };
            let is_free = self.left_in(lane) > 0;
            disks.position(has_threads).filter(|_| is_free)
        };
        let mut lanes = self.lanes.iter().enumerate();
        let (number, place) = lanes.find_map(|(number, lane)| Some((number, may_run(lane)?)))?;
        let lane = self.lanes.get_mut(number)?;
        let (disk, mut jobs) = lane.disks.remove(place)?;
        let job = jobs.pop_front()?;
        if !jobs.is_empty() {
            // Others have their turn.
            lane.disks.push_back((disk, jobs));
        }
        lane.running.begin(disk);
        if lane.is_work {
            self.at_work.push_back(now);
        }
        self.loads -= usize::from(matches!(job, LoaderJob::Load(..)));
        self.running.begin(disk);
        Some((number, job))
    }

    /// Counts a job that has ended, of those that began then, and learns whether jobs of its kind wait or work.
    pub(super) fn end(&mut self, number: usize, disk: DiskKey, began: Instant, has_waited: bool) {
        if let Some(lane) = self.lanes.get_mut(number) {
            lane.running.end(disk);
            let place = self.at_work.iter().position(|at_work| *at_work == began);
            if let Some(place) = place.filter(|_| lane.is_work) {
                self.at_work.remove(place);
            }
            if lane.is_work {
                self.most_at_work = match has_waited {
                    true => (self.most_at_work + 1).min(self.most),
                    false => self.most_at_work - 1,
                }
                .max(self.least_at_work);
            }
        }
        self.running.end(disk);
    }
}

impl Lane {
    /// The number of jobs that wait for this disk.
    fn waiting(&self, disk: DiskKey) -> usize {
        let mut disks = self.disks.iter();
        let of_disk = disks.find(|(of, _)| *of == disk);
        of_disk.map_or(0, |(_, jobs)| jobs.len())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use salver_assets::Content;

    use super::*;
    use crate::loader::tests::file;

    fn close(device: u64) -> LoaderJob {
        let mut file = file();
        file.identity.device = device;
        LoaderJob::Close(Box::new(Content::File(file)))
    }

    #[test]
    fn the_urgent_goes_first_and_no_lane_takes_more_than_its_share() {
        let now = Instant::now();
        let mut queue = JobQueue {
            most: 10,
            ..JobQueue::default()
        };
        for (number, share) in [4, 1, 2].into_iter().enumerate() {
            queue.lanes[number].share = share;
            (0..3).for_each(|_| queue.push(number, LoaderJob::Close(Box::new(Content::Empty))));
        }
        assert_eq!(queue.runnable(), 3 + 1 + 2);
        let order: Vec<_> = std::iter::from_fn(|| queue.next(now).map(|(lane, _)| lane)).collect();
        assert_eq!(order, [0, 0, 0, 1, 2, 2]);
        queue.end(1, DiskKey::Device(0), now, false);
        assert_eq!(queue.next(now).map(|(lane, _)| lane), Some(1));
    }

    #[test]
    fn few_loads_begin_within_a_moment_and_more_beside_those_that_wait() {
        let mut queue = JobQueue::new(64, 100, false, 2);
        let began = Instant::now();
        let at = |milliseconds| began + Duration::from_millis(milliseconds);
        let begin = |queue: &mut JobQueue, now| {
            queue.wake(now);
            std::iter::from_fn(|| queue.next(now)).count()
        };
        (0..9).for_each(|_| queue.push(1, close(1)));
        (0..3).for_each(|_| queue.push(2, close(1)));
        assert_eq!(begin(&mut queue, began), 2 + 3);
        assert_eq!((queue.to_watch(), queue.wanted()), (Some(at(10)), 1));
        queue.watched_until = queue.to_watch();
        assert_eq!(queue.wanted(), 0);
        queue.push(0, close(1));
        assert_eq!(begin(&mut queue, at(4)), 1, "what confirms");
        queue.end(2, DiskKey::Device(1), began, false);
        assert_eq!(begin(&mut queue, at(5)), 0, "not of their kind");
        queue.end(1, DiskKey::Device(1), began, false);
        assert_eq!(begin(&mut queue, at(6)), 1);
        // The other that began first has not ended.
        assert_eq!(begin(&mut queue, at(9)), 0);
        queue.watched_until = None;
        assert_eq!(begin(&mut queue, at(10)), 1);
        assert_eq!(queue.to_watch(), Some(at(16)));
        queue.end(1, DiskKey::Device(1), began, false);
        assert_eq!(begin(&mut queue, at(15)), 0, "it counted no more");
        assert_eq!(begin(&mut queue, at(30)), 2);
    }

    #[test]
    fn more_loads_begin_where_those_before_waited() {
        let mut queue = JobQueue::new(64, 100, false, 2);
        let now = Instant::now();
        (0..40).for_each(|_| queue.push(1, close(1)));
        let begin = |queue: &mut JobQueue| std::iter::from_fn(|| queue.next(now)).count();
        let end = |queue: &mut JobQueue, count, has_waited| {
            (0..count).for_each(|_| queue.end(1, DiskKey::Device(1), now, has_waited));
            begin(queue)
        };
        assert_eq!(begin(&mut queue), 2);
        assert_eq!(end(&mut queue, 2, true), 4);
        assert_eq!(
            end(&mut queue, 1, true),
            2,
            "one for its place, and one more"
        );
        assert_eq!(end(&mut queue, 1, false), 0, "one less");
        assert_eq!(end(&mut queue, 4, false), 2, "never fewer than at first");
    }

    #[test]
    fn what_rests_has_its_turn_when_it_is_due_and_takes_a_place_until_then() {
        let mut queue = JobQueue::new(8, 4, true, 8);
        let now = Instant::now();
        let second = |number| now + Duration::from_secs(number);
        assert_eq!((queue.to_watch(), queue.wanted()), (None, 0));
        for (at, device) in [(3, 1), (1, 2), (3, 3)] {
            queue.rest(second(at), close(device));
        }
        assert_eq!((queue.to_watch(), queue.wanted()), (Some(second(1)), 1));
        assert!(!queue.has_place(DiskKey::Device(1)));
        assert!(queue.has_place(DiskKey::Device(9)));
        queue.watched_until = queue.to_watch();
        queue.wake(second(0));
        queue.rest(second(4), close(4));
        assert_eq!((queue.wanted(), queue.next(now).is_none()), (0, true));
        queue.wake(second(2));
        assert_eq!(queue.next(now).unwrap().1.disk(), DiskKey::Device(2));
        queue.wake(second(4));
        assert_eq!((queue.to_watch(), queue.wanted()), (None, 3));
        queue.rest(second(9), close(1));
        queue.watched_until = queue.to_watch();
        queue.rest(second(8), close(1));
        assert_eq!(queue.to_watch(), Some(second(8)), "for the first");
    }

    #[test]
    fn a_disk_that_hangs_leaves_places_in_its_lane() {
        let now = Instant::now();
        let mut queue = JobQueue::new(64, 100, true, 64);
        let begin = |queue: &mut JobQueue| std::iter::from_fn(|| queue.next(now)).count();
        for lane in [1, 2, 3] {
            (0..100).for_each(|_| queue.push(lane, close(1)));
            let hung = begin(&mut queue);
            queue.push(lane, close(2));
            assert_eq!((hung > 0, begin(&mut queue)), (true, 1), "{lane}");
        }
        queue.push(0, close(2));
        assert_eq!(begin(&mut queue), 1);
        // Alone, a disk has all of its lane.
        queue = JobQueue::new(64, 100, false, 64);
        (0..100).for_each(|_| queue.push(1, close(1)));
        assert_eq!(begin(&mut queue), 24);
    }

    #[test]
    fn a_disk_leaves_threads_to_others_and_waits_for_its_turn() {
        let now = Instant::now();
        let mut queue = JobQueue {
            most: 8,
            has_several: true,
            ..JobQueue::default()
        };
        queue.lanes[0].share = 8;
        let run = |queue: &mut JobQueue| {
            std::iter::from_fn(|| queue.next(now).map(|(_, job)| job.disk())).collect::<Vec<_>>()
        };
        (0..20).for_each(|_| queue.push(0, close(1)));
        let hung = run(&mut queue);
        assert_eq!(hung, [DiskKey::Device(1); 4]);
        (0..2).for_each(|_| queue.push(0, close(2)));
        assert_eq!(run(&mut queue), [DiskKey::Device(2); 2]);
        // Another that hangs, too.
        (0..20).for_each(|_| queue.push(0, close(3)));
        assert_eq!(run(&mut queue).len(), 1);
        queue.push(0, close(4));
        assert_eq!(run(&mut queue), [DiskKey::Device(4)]);
        assert_eq!(queue.runnable(), 0);
        queue.end(0, DiskKey::Device(4), now, false);
        queue.push(0, close(4));
        assert_eq!(queue.runnable(), 1);
        // Disks that are well take turns.
        queue = JobQueue {
            most: 100,
            has_several: true,
            ..JobQueue::default()
        };
        queue.lanes[0].share = 100;
        for disk in [1, 1, 1, 2, 2, 3] {
            queue.push(0, close(disk));
        }
        let order = run(&mut queue);
        assert_eq!(order, [1, 2, 3, 1, 2, 1].map(DiskKey::Device));
        queue.limit(100, 1, true);
        assert!(queue.has_place(DiskKey::Device(1)));
    }
}
