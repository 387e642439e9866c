package meter

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// describes makes the description of a metric from its name without backfill_, and its meaning.
func describes(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("backfill_"+name, help, labels, nil)
}

// Gauges of the pool as the last cycle left it.
var (
	capacity = describes("resource_capacity",
		"What the slots that are up have of a resource, in its own unit.", "resource")
	inUse        = describes("resource_in_use", "What running jobs use of a resource, in its own unit.", "resource")
	groupRunning = describes("group_running_cpus", "Cpus on which jobs of an accounting group run.", "group")
	groupJobs    = describes("group_waiting_jobs", "Waiting jobs of an accounting group.", "group")
	groupCPUs    = describes("group_waiting_cpus", "Cpus that waiting jobs of an accounting group request.", "group")
	groupQuota   = describes("group_quota_cpus",
		"Quota of an accounting group, in the weight of slots: cpus unless SLOT_WEIGHT says otherwise.", "group")
	idleCPUs     = describes("idle_cpus", "Cpus of the slots that are up on which no job runs.")
	reservedIdle = describes("reserved_idle_cpus", "Idle cpus that reservations will take.")
	usableIdle   = describes("usable_idle_cpus",
		"Idle cpus that waiting jobs could use now, or any job if none wants slots: "+
			"the rest of the slot is enough, lasts long enough and is not reserved by then.")
	largestIdle = describes("largest_idle_cpus", "The most cpus that are idle on one slot.")
	idleSlots   = describes("idle_slots", "Slots that are idle as a whole, have no end and are reserved for nobody.")
	wantedSlots = describesShape("wanted_slots", "Slots that waiting jobs want, by shape: "+
		"one for each chunk, cpus, GPUs and memory (MiB) rounded up to powers of two.")
	wantedUnmatched = describesShape("wanted_unmatched_jobs",
		"Jobs of the shape that no slot of the pool would do for, were it idle.")
	wantedPlaces = describesShape("wanted_places",
		"How many more chunks of the shape would fit on what is idle, on slots that such jobs may use.")
	wantedFirst = describesShape("wanted_first_start_seconds",
		"In how many seconds the first job of the shape is expected to start.")
	queueEnd = describes("queue_end_seconds",
		"In how many seconds the last waiting job that is told a start is expected to end.")
	untold = describes("queue_untold_jobs", "Waiting jobs that are told no start.")
)

// describesShape is describes for a metric of shapes.
func describesShape(name, help string) *prometheus.Desc {
	return describes(name, help, "cpus", "memory_mib", "gpus")
}

// What a daemon's own metrics have under the same names.
var (
	cyclesTotal   = describes("cycles_total", "Negotiation cycles since the start.")
	fallbackInUse = describes("fallback_in_use", "1 if the policy was given up, and its fallback decides.")
	brokenTotal   = describes("guarantees_broken_total", "Guarantees that could not be kept, by cause.", "cause")
	slotsNow      = describes("slots", "Slots in the pool, as of the last cycle.")
	jobsNow       = describes("jobs", "Jobs by situation: idle, running, reserved, beyond_depth, unplanned.", "situation")
	startedLast   = describes("started", "Jobs that the last cycle started.")
	phaseSeconds  = describes("phase_seconds", "How long each phase of the last cycle took.", "phase")
)

// histogram makes a histogram of seconds from least to most, which doubles the bounds of its
// classic buckets from one to the next. Prometheus takes the native one, whose buckets are 10 %
// wide, if it is told to.
func histogram(name, help string, least, most float64, label string) *prometheus.HistogramVec {
	const factor, buckets = 1.1, 160 // native
	doublings := int(math.Ceil(math.Log2(most / least)))
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "backfill_" + name, Help: help, Buckets: prometheus.ExponentialBuckets(least, 2, doublings+1),
		NativeHistogramBucketFactor: factor, NativeHistogramMaxBucketNumber: buckets,
		NativeHistogramMinResetDuration: time.Hour,
	}, []string{label})
}

// How many labels of each kind are told apart, and how long one is, in bytes.
const (
	MostGroups   = 50
	mostPolicies = 20
	longestLabel = 100
)

// other is the label of all that are not told apart, and none of jobs that name no group.
const (
	other = "other"
	none  = "none"
)

// names are the first labels that came, up to a bound.
type names struct {
	known map[string]string // to the label
	most  int
	call  func(string) string // what a name is to be called; nil: as it is
}

func newNames(most int) *names { return &names{known: map[string]string{}, most: most} }

// label returns the label for a name; other if there are too many.
func (n *names) label(name string) string {
	if label, known := n.known[name]; known {
		return label
	}
	if len(n.known) >= n.most {
		return other
	}
	return n.admit(name)
}

// admit has a name told apart even if there are too many.
func (n *names) admit(name string) string {
	label, known := n.known[name]
	if !known {
		if label = name; n.call != nil {
			label = n.call(name)
		}
		label = strings.ToValidUTF8(label, "�")
		if len(label) > longestLabel {
			end := longestLabel
			for !utf8.RuneStart(label[end]) {
				end--
			}
			label = label[:end]
		}
		if label == "" {
			label = none
		}
		n.known[name] = label
	}
	return label
}
