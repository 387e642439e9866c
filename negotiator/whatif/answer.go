package whatif

// Answer is what is answered. Instants are in the pool's seconds: on a real pool since 1970, in a
// simulation since its beginning.
type Answer struct {
	Now int64 `json:"now"`
	// Present and Asked say in words which plans are compared; Notes how the answer is to be
	// understood.
	Present string   `json:"present"`
	Asked   string   `json:"asked"`
	Notes   []string `json:"notes,omitempty"`
	// Job answers a question about a job, Change any other.
	Job    *JobAnswer    `json:"job,omitempty"`
	Change *ChangeAnswer `json:"change,omitempty"`
}

// What a start is told by. Starts that are compared are told by the same.
const (
	// ByPlan: one play in which all jobs run for as long as they are taken to, and nobody else comes.
	ByPlan = "plan"
	// ByMedian: the median of futures, whose run times and arrivals are drawn from past ones.
	ByMedian = "median"
)

// JobAnswer says when a job would start.
type JobAnswer struct {
	Chunks  int              `json:"chunks"`
	Request map[string]int64 `json:"request"` // of each chunk
	Seconds int64            `json:"seconds"` // that it asks for
	// Planned is the run time that is planned with, if it is another one.
	Planned int64 `json:"planned_seconds,omitempty"`
	// Start is when it would start, if all jobs run for as long as they are taken to; nil: no start is
	// foreseen. Low, Mid and High are starts that come in one, five and nine of ten futures whose run
	// times are drawn from past ones; nil: nothing is known of those.
	Start *int64 `json:"start"`
	Low   *int64 `json:"p10,omitempty"`
	Mid   *int64 `json:"p50,omitempty"`
	High  *int64 `json:"p90,omitempty"`
	// ToldBy says which of these counts as when it would start, here and in Sooner: ByMedian, which is
	// Mid, or ByPlan, which is Start. Delayed and Broken are of the plan.
	ToldBy string `json:"told_by"`
	// Promised is the latest start that it would be promised.
	Promised *int64 `json:"promised,omitempty"`
	Slots    string `json:"slots,omitempty"`
	// Sooner are jobs that would start sooner, the most like it first.
	Sooner []Alternative `json:"sooner"`
	// Delayed counts the waiting jobs that would start later because of it, and Broken are the promises
	// that would be broken.
	Delayed int      `json:"delayed"`
	Broken  []Broken `json:"broken"`
}

// told is when the job would start, by what the answer is told by. It must have a start.
func (j *JobAnswer) told() int64 {
	if j.ToldBy == ByMedian {
		return *j.Mid
	}
	return *j.Start
}

// Alternative is a smaller or shorter job, and when it would start.
type Alternative struct {
	Chunks  int              `json:"chunks"`
	Request map[string]int64 `json:"request"`
	Seconds int64            `json:"seconds"`
	// Start is by the plan, and Mid the median of the futures; nil unless the answer is told by it.
	Start int64  `json:"start"`
	Mid   *int64 `json:"p50,omitempty"`
}

// Told is when it would start, by what the answer is told by.
func (x Alternative) Told() int64 {
	if x.Mid != nil {
		return *x.Mid
	}
	return x.Start
}

// ChangeAnswer says what would differ in the plan of all waiting jobs.
type ChangeAnswer struct {
	ToldBy  string  `json:"told_by"`           // all of it: ByPlan
	Drained []Drain `json:"drained,omitempty"` // as it was asked
	// Present and Changed are totals over the jobs that start in both plans.
	Present Totals `json:"present"`
	Changed Totals `json:"changed"`
	// Earlier, Later and Same count jobs by their starts; Never counts those that only the present
	// plan starts, and Anew those that only the changed one does.
	Earlier int `json:"earlier"`
	Later   int `json:"later"`
	Same    int `json:"same"`
	Never   int `json:"never"`
	Anew    int `json:"anew"`
	// Moves are the jobs that start at another time, those that move most first.
	Moves []Move `json:"moves"`
	// Unlisted counts further ones.
	Unlisted int `json:"unlisted,omitempty"`
	// Promises counts the waiting jobs that are promised a start. Broken are all promises that would be
	// broken; Lifted counts those that would bind nobody any more, as the policy gives none.
	Promises int      `json:"promises"`
	Broken   []Broken `json:"broken"`
	Lifted   int      `json:"lifted"`
	// Cut says that a play ended before all jobs had started, so that those are missing.
	Cut string `json:"cut,omitempty"`
}

// Totals are measures of a plan.
type Totals struct {
	Jobs int `json:"jobs"`
	// MeanWait is in seconds since the submit time; WorstWait is the mean of the greatest 5 %.
	MeanWait  float64 `json:"mean_wait"`
	WorstWait float64 `json:"worst_wait"`
	// Slowdown is the mean bounded slowdown: of run times of at least 10 s.
	Slowdown float64 `json:"mean_bounded_slowdown"`
	// Makespan is from now until the last of the jobs ends.
	Makespan int64 `json:"makespan"`
}

// Move is a job that starts at another time. A start that is missing is not in the plan.
type Move struct {
	Job    string `json:"job"`
	Owner  string `json:"owner,omitempty"`
	Before *int64 `json:"start_before"`
	After  *int64 `json:"start_after"`
}

// Broken is a promise that would be broken.
type Broken struct {
	Job      string `json:"job"`
	Owner    string `json:"owner,omitempty"`
	Promised int64  `json:"promised"`
	// Before is the start in the present plan, and After in the changed one; nil: none is found.
	Before *int64 `json:"start_before"`
	After  *int64 `json:"start_after"`
}
