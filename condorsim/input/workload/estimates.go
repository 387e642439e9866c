package workload

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// EstimateModel says how the users estimate run times. It is one of
//
//	given       the trace's estimates; so is ""
//	accurate    the run time; at least a second, as all estimates are
//	f:F         uniform in [run, run·(F+1)], whole seconds: Mu'alem and Feitelson,
//	            "Utilization, Predictability, Workloads, and User Runtime Estimates
//	            in Scheduling the IBM SP2 with Backfilling", IEEE TPDS 12(6), 2001,
//	            which calls F the badness factor
//	tsafrir     a few popular round values: Tsafrir, Etsion and Feitelson, "Modeling
//	            User Runtime Estimates", JSSPP 2005. The longest possible estimate is
//	            the longest of the trace's, in full hours
//	tsafrir:S   the same with S seconds as the longest, at least an hour and not
//	            less than any run time
//	liars:F:R   the trace's, but a share F of the users, drawn at random, say the run
//	            time over R, and their jobs run on beyond that: see [Job.Lies]
type EstimateModel string

func (m EstimateModel) given() bool { return m == "" || m == "given" }
func (m EstimateModel) random() bool {
	return strings.HasPrefix(string(m), "f:") || strings.HasPrefix(string(m), "tsafrir") || m.Lies()
}

// Lies reports whether some users say less than their jobs run. Such a trace is to be run as it is:
// a reader of its file would raise the estimates.
func (m EstimateModel) Lies() bool { return strings.HasPrefix(string(m), "liars:") }

func (m EstimateModel) validate() error {
	_, _, err := m.parse()
	return err
}

// liars returns the share of users who lie, and the ratio of run time and estimate.
func (m EstimateModel) liars() (share, ratio float64, ok bool) {
	shareText, ratioText, has := strings.Cut(strings.TrimPrefix(string(m), "liars:"), ":")
	share, ok = numberWithin(shareText, 0, 1)
	ratio, known := numberWithin(ratioText, 1, 1e6)
	return share, ratio, has && ok && known
}

// parse returns the model's name and its number, 0 if it has none.
func (m EstimateModel) parse() (name string, number float64, err error) {
	name, arg, has := strings.Cut(string(m), ":")
	switch {
	case m.given():
		return "given", 0, nil
	case m == "accurate", m == "tsafrir":
		return name, 0, nil
	case name == "f":
		if f, ok := numberWithin(arg, 0, 1000); ok {
			return name, f, nil
		}
	case name == "tsafrir" && has:
		if s, ok := numberWithin(arg, float64(hour), float64(maxNumber)); ok && s == float64(int64(s)) {
			return name, s, nil
		}
	case m.Lies():
		if _, _, ok := m.liars(); ok {
			return name, 0, nil
		}
	}
	return "", 0, fmt.Errorf("estimate model %q: must be given, accurate, f:F (F from 0 to 1000), tsafrir, "+
		"tsafrir:SECONDS (a whole number, at least 3600) or liars:SHARE:RATIO (from 0 to 1 and from 1 to 1000000)",
		string(m))
}

// remodelEstimates replaces the estimates of all jobs by those of the model; the model given
// changes nothing.
func (t *Trace) remodelEstimates(m EstimateModel, random *rand.Rand) error {
	name, number, err := m.parse()
	if err != nil {
		return err
	}
	if name != "given" && name != "liars" {
		for i := range t.Jobs {
			if j := &t.Jobs[i]; j.Origin == Raised {
				j.Beside = 0
			}
			t.Jobs[i].Origin = Stated
		}
	}
	switch name {
	case "accurate":
		for i := range t.Jobs {
			t.Jobs[i].Estimate = max(t.Jobs[i].Run, 1)
		}
	case "f":
		for i := range t.Jobs {
			j := &t.Jobs[i]
			more := number*float64(j.Run) + 1 // number of whole seconds to choose from
			j.Estimate = max(j.Run+int64(random.Float64()*more), 1)
		}
	case "tsafrir":
		return t.tsafrir(int64(number), random)
	case "liars":
		share, ratio, _ := m.liars()
		return t.lie(share, ratio, random)
	}
	return nil
}

// scaleEstimates multiplies what users stated. It is an error if none stated anything.
func (t *Trace) scaleEstimates(factor float64) error {
	if factor == 0 || factor == 1 {
		return nil
	}
	before := t.Cleaning.EstimateScaled
	for i := range t.Jobs {
		j := &t.Jobs[i]
		stated := j.Estimate
		switch j.Origin {
		case Stated:
		case Assumed:
			continue
		case Raised:
			stated, j.Beside = int64(j.Beside), 0
		}
		t.Cleaning.EstimateScaled++
		scaled := int64(min(max(math.Round(float64(stated)*factor), 1), float64(maxNumber)))
		switch {
		case j.Lies:
			j.Estimate, j.Lies = scaled, scaled < j.Run
		case j.Run <= scaled:
			j.Estimate, j.Origin = scaled, Stated
		case t.Overrun == OverrunKill:
			t.Cleaning.RunCut++
			j.Beside = inWord(j.Ran() - scaled)
			j.Run, j.Estimate, j.Origin = scaled, scaled, Stated
		default:
			j.Estimate, j.Origin, j.Beside = j.Run, Raised, inWord(scaled)
		}
	}
	if t.Cleaning.EstimateScaled == before && len(t.Jobs) > 0 {
		return errors.New("scale-estimates: no job states a run time, so there is nothing to scale; name the attribute of " +
			"job ads that has it (estimate-attr), or have estimates made up (estimate-model)")
	}
	return nil
}

// inWord returns seconds as [Job.Beside] has them.
func inWord(seconds int64) uint32 { return uint32(min(seconds, math.MaxUint32)) } //nolint:gosec // it fits

// lie has a share of the users say their jobs' run times over the ratio, a second at least. Users are
// drawn in the order in which they come. Jobs whose users are not known are one user's; it is an error
// if there are not two, who could be compared.
func (t *Trace) lie(share, ratio float64, random *rand.Rand) error {
	lies := map[string]bool{}
	for i := range t.Jobs {
		j := &t.Jobs[i]
		liar, known := lies[j.User]
		if !known {
			liar = random.Float64() < share
			lies[j.User] = liar
		}
		if said := max(1, int64(float64(j.Run)/ratio)); liar && said < j.Estimate {
			j.Estimate, j.Lies = said, true
		}
	}
	if len(lies) < 2 {
		return errors.New("estimate model liars compares users who lie with others, but the workload does not tell " +
			"two users apart: use a trace that names its users")
	}
	return nil
}
