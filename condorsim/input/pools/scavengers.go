package pools

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Scavengers says which jobs of a pool are scavengers: jobs that run on whatever is idle now, also where it is
// reserved, and make way at once for any other job. A job is one, too, if its ad says so ([ScavengerOfJobs]).
type Scavengers struct {
	// Users and Queues are those whose jobs are scavengers, by their names in the trace or the ads.
	Users, Queues []string
	// Vacate is how long a scavenger takes to leave, in seconds, and Checkpoint after how many seconds of its
	// run, again and again, it saves what it did; 0: never.
	Vacate, Checkpoint backfill.Time
	// Fill are further scavengers.
	Fill Fill
}

// Fill are so many scavengers that are alike, which are submitted with the first job, of the user
// [FillUser]. Each has so many cpus and runs for so many seconds.
type Fill struct {
	Jobs    int
	Cpus    int64
	RunTime backfill.Time
}

// FillUser is the user of the scavengers of a [Fill].
const FillUser = "scavenger"

// ScavengerOfJobs is the attribute by which jobs say that they are scavengers.
const ScavengerOfJobs = "BackfillScavenger"

// DefaultScavengerVacate is how long a scavenger takes to leave by default, in seconds: most jobs end at the
// first signal, long before MachineMaxVacateTime.
const DefaultScavengerVacate backfill.Time = 10

// MostScavengerVacate is how long a scavenger may take to leave at most, in seconds: all jobs are planned to take
// longer by it.
const MostScavengerVacate backfill.Time = 24 * 60 * 60

// DefaultScavengers are those of a pool that says nothing of scavengers.
func DefaultScavengers() *Scavengers { return &Scavengers{Vacate: DefaultScavengerVacate} }

// Include reports whether a job of a user in a queue, with an ad that may be nil, is a scavenger.
func (s *Scavengers) Include(user, queue string, ad *classad.ClassAd) bool {
	if user != "" && slices.Contains(s.Users, user) || queue != "" && slices.Contains(s.Queues, queue) {
		return true
	}
	if ad == nil {
		return false
	}
	return ad.Eval(ScavengerOfJobs, nil).IsTrue()
}

// scavengers is the YAML form of [Scavengers].
type scavengers struct {
	Users      []string `yaml:"users"`
	Queues     []string `yaml:"queues"`
	Vacate     *span    `yaml:"vacate"`
	Checkpoint *span    `yaml:"checkpoint"` // nil: they save nothing
	Fill       *fill    `yaml:"fill"`
}

// fill is the YAML form of [Fill].
type fill struct {
	Jobs    int   `yaml:"jobs"`
	Cpus    int64 `yaml:"cpus"`
	RunTime *span `yaml:"run_time"`
}

// addScavengers says which jobs of the pool are scavengers.
func (b *builder) addScavengers() error {
	d := b.d.Scavengers
	at := func(key string) string { return "scavengers." + key }
	switch {
	case d == nil && b.has("scavengers"):
		return b.wrong("scavengers", "says nothing: give users, queues or fill, or {} for jobs that say it themselves")
	case d == nil:
		return nil
	case len(b.pool.Bundles) > 0:
		return b.wrong("scavengers", "there are none on partitions; leave it out")
	case d.Fill == nil && b.has(at("fill")):
		return b.wrong(at("fill"), "says nothing: give jobs, cpus and run_time, or leave it out")
	case d.Vacate != nil && backfill.Time(*d.Vacate) > MostScavengerVacate:
		return b.wrong(at("vacate"), "must be at most a day: all plans are longer by it")
	case d.Checkpoint != nil && *d.Checkpoint == 0:
		return b.wrong(at("checkpoint"), "must be at least a second; leave it out if scavengers save nothing")
	case slices.Contains(d.Users, ""):
		return b.wrong(at("users"), "a user has no name")
	case slices.Contains(d.Queues, ""):
		return b.wrong(at("queues"), "a queue has no name")
	}
	made := DefaultScavengers()
	made.Users, made.Queues = d.Users, d.Queues
	if d.Vacate != nil {
		made.Vacate = backfill.Time(*d.Vacate)
	}
	if d.Checkpoint != nil {
		made.Checkpoint = backfill.Time(*d.Checkpoint)
	}
	if f := d.Fill; f != nil {
		const most = 1_000_000
		switch {
		case f.Jobs < 1 || f.Jobs > most:
			return b.wrong(at("fill.jobs"), "%d: must be from 1 to %d", f.Jobs, most)
		case f.Cpus < 1 || f.Cpus > b.pool.Capacity()["cpus"]:
			return b.wrong(at("fill.cpus"), "%d: must be from 1 to what the pool has, %d", f.Cpus, b.pool.Capacity()["cpus"])
		case f.RunTime == nil || *f.RunTime == 0:
			return b.wrong(at("fill.run_time"), "must be at least a second")
		}
		made.Fill = Fill{Jobs: f.Jobs, Cpus: f.Cpus, RunTime: backfill.Time(*f.RunTime)}
	}
	b.pool.Scavengers = made
	return nil
}
