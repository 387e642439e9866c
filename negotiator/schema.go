package negotiator

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// Schema says how to read ads: which resources there are, and which attributes of a job hold its
// estimate and its limit.
type Schema struct {
	// Resources are the pool's resources, cpus first; [matchmaker.Claims], if it is one, counts
	// jobs. The attributes of slots are named after them (Cpus), those of jobs begin with Request
	// (RequestCpus).
	Resources []string
	// Estimates are the job attributes that may hold the expected run time in seconds; the first
	// that a job has counts.
	Estimates []string
	// Limits are the job attributes that may hold the run time at which the pool ends the job.
	Limits []string
	// SlotEnds are the attributes of slots that may say when they end, in seconds since 1970; the first
	// that is a number counts. See [Schema.EndOf].
	SlotEnds []string
	// Labels are further labels that estimators need: names of [EveryLabel], or job attributes.
	Labels []string
}

// DefaultSchema returns a schema with gpus and the resources that every HTCondor slot advertises.
// It reads the estimate from the attributes in which users give it.
func DefaultSchema() Schema {
	limits := []string{"AllowedExecuteDuration", "AllowedJobDuration"}
	return Schema{
		Resources: []string{"cpus", "memory", "disk", "gpus"},
		Estimates: append([]string{"EstimatedRunTime"}, limits...),
		Limits:    limits,
		SlotEnds:  []string{"GLIDEIN_ToDie"},
	}
}

// Evaluate evaluates an attribute of a job or slot. The error says that it takes more than
// [classad.FewSteps].
func Evaluate(ad *classad.ClassAd, attr string) (classad.Value, error) {
	return EvaluateMetered(ad, attr, &classad.Meter{})
}

// EvaluateMetered is [Evaluate], and adds to a meter what it takes.
func EvaluateMetered(ad *classad.ClassAd, attr string, m *classad.Meter) (classad.Value, error) {
	return EvaluateAlone(ad, attr, m, nil)
}

// EvaluateAlone is [EvaluateMetered], and tells what the evaluation asked for beyond the ad.
func EvaluateAlone(ad *classad.ClassAd, attr string, m *classad.Meter, outside *classad.Outside) (classad.Value, error) {
	before := m.Exceeded()
	v := classad.Scope{My: ad, MaxSteps: classad.FewSteps, Meter: m, Outside: outside}.Attr(attr)
	if m.Exceeded() > before {
		return v, fmt.Errorf("its %s is too expensive to evaluate: it takes more than %d steps", attr, classad.FewSteps)
	}
	return v, nil
}

// whole reads an attribute whose value is a whole number within bounds. A real is accepted, too, as
// startds print TotalSlotDisk as 1448969220.0. An attribute that is missing or undefined is not
// given; any other value is an error.
func whole(ad *classad.ClassAd, attr string, low, high int64) (v int64, given bool, err error) {
	value, err := Evaluate(ad, attr)
	if err != nil || value.Kind() == classad.Undefined {
		return 0, false, err
	}
	v, ok := value.Int()
	if n, isNumber := value.Number(); !ok && isNumber && n == math.Trunc(n) && math.Abs(n) <= 1<<53 {
		v, ok = int64(n), true
	}
	if !ok || v < low || v > high {
		return 0, false, fmt.Errorf("%s is %v: must be a whole number from %d to %d", attr, value, low, high)
	}
	return v, true, nil
}

// first returns the value, at least one second, of the first of these attributes that the ad has; 0
// if it has none. Other values are an error.
func first(ad *classad.ClassAd, attrs []string) (backfill.Time, error) {
	for _, attr := range attrs {
		v, given, err := whole(ad, attr, 1, backfill.MaxTime)
		if given || err != nil {
			return backfill.Time(v), err
		}
	}
	return 0, nil
}

// Attribute returns the attribute of a slot ad that holds a resource, as HTCondor spells it: Cpus for cpus.
func Attribute(resource string) string {
	switch resource {
	case "":
		return ""
	case "gpus":
		return "GPUs"
	}
	return strings.ToUpper(resource[:1]) + resource[1:]
}

// SlotFromAd reads a slot. The capacity of a partitionable slot is what it has in all
// (TotalSlotCpus), not what is left of it (Cpus). Jobs are matched with the whole capacity, too: if
// the two differ, the slot gets a copy of the ad with the capacity. It gets one, too, where the ad
// counts the jobs that run there (NumDynamicSlots), and if its clock is to go on, see [FollowClock].
func (s Schema) SlotFromAd(ad *classad.ClassAd) (*Slot, error) {
	name, ok := ad.Text("Name")
	if !ok || name == "" {
		return nil, errors.New("the slot ad has no Name")
	}
	slot := &Slot{Name: name, Ad: ad, Capacity: make(backfill.Vector, len(s.Resources))}
	if _, _, ok := clockOf(ad); ok {
		slot.Ad = ad.Clone()
		FollowClock(slot.Ad)
	}
	for i, resource := range s.Resources {
		attr := Attribute(resource)
		left, given, err := whole(ad, attr, 0, backfill.MaxAmount)
		if err != nil {
			return nil, fmt.Errorf("slot %s: %w", name, err)
		}
		total, partitionable, err := whole(ad, "TotalSlot"+attr, 0, backfill.MaxAmount)
		switch {
		case err != nil:
			return nil, fmt.Errorf("slot %s: %w", name, err)
		case !partitionable && !given && i == 0:
			return nil, fmt.Errorf("slot %s has no %s", name, attr)
		case !partitionable:
			total = left
		case total != left:
			if slot.Ad == ad {
				slot.Ad = ad.Clone()
			}
			slot.Ad.SetInt(attr, total)
		}
		slot.Capacity[i] = total
	}
	matchmaker.Vacant(slot.Ad, s.Resources, func() *classad.ClassAd {
		if slot.Ad == ad {
			slot.Ad = ad.Clone()
		}
		return slot.Ad
	})
	return slot, nil
}

// RequireNothing gives an ad without Requirements such that are always true. HTCondor's own tools
// always write some, and an ad without matches nothing; but ads that people write for simulations,
// or print with a choice of attributes, mostly have none.
func RequireNothing(ad *classad.ClassAd) {
	if _, given := ad.Lookup("Requirements"); !given {
		ad.SetBool("Requirements", true)
	}
}

// JobFromAd reads a job. The caller chooses the ID. ClusterId and ProcId name the job and order the
// jobs that were submitted in the same second. An ad without these or QDate is an error.
func (s Schema) JobFromAd(id backfill.JobID, ad *classad.ClassAd) (*Job, error) {
	cluster, haveCluster := ad.Int("ClusterId")
	proc, haveProc := ad.Int("ProcId")
	if !haveCluster || !haveProc {
		return nil, errors.New("the job ad has no ClusterId and ProcId")
	}
	j := &Job{
		ID: id, Ad: ad, Nodes: 1,
		Name:     strconv.FormatInt(cluster, 10) + "." + strconv.FormatInt(proc, 10),
		Position: backfill.QueuePosition{Cluster: cluster, Proc: proc},
	}
	if err := s.readJob(j); err != nil {
		return nil, fmt.Errorf("job %s: %w", j.Name, err)
	}
	return j, nil
}

// readJob fills in the rest of a job that has its ID, name and ad.
func (s Schema) readJob(j *Job) error {
	submit, given, err := whole(j.Ad, "QDate", -backfill.MaxTime, backfill.MaxTime)
	if err == nil && !given {
		err = errors.New("QDate is missing")
	}
	if err != nil {
		return err
	}
	j.Submit = backfill.Time(submit)
	nodes, given, err := whole(j.Ad, "MinHosts", 1, backfill.MaxChunks)
	if err != nil {
		return err
	}
	if given {
		j.Nodes = int(nodes)
	}
	if j.Estimate, err = first(j.Ad, s.Estimates); err != nil {
		return err
	}
	if j.Limit, err = first(j.Ad, s.Limits); err != nil {
		return err
	}
	j.Labels = s.LabelsOf(j.Ad, nil)
	_, err = s.Request(j.Ad, j.Nodes)
	return err
}

// LabelsOf reads a job's labels from its ad: those that the function [LabelsOf] reads, and those of
// s.Labels.
func (s Schema) LabelsOf(ad *classad.ClassAd, m *classad.Meter) map[string]string {
	found := LabelsOf(ad, m)
	scope := classad.Scope{My: ad, MaxSteps: classad.FewSteps, Meter: m}
	for _, name := range s.Labels {
		value := scope.Attr(name)
		text, isText := value.Text()
		if !isText && value.Kind() != classad.Undefined && value.Kind() != classad.Error {
			text = value.String()
		}
		if text == "" || attributeOf(name) != name {
			continue
		}
		if found == nil {
			found = map[string]string{}
		}
		found[name] = Label(text)
	}
	return found
}

// LabelAttributes lists the job attributes from which s.Labels are read.
func (s Schema) LabelAttributes() []string {
	all := make([]string, len(s.Labels))
	for i, name := range s.Labels {
		all[i] = attributeOf(name)
	}
	return all
}

// Request reads what each of a job's chunks requests, for a job of so many nodes (chunks). A
// resource that the ad does not request counts as 0; cpus, the first resource, as 1. So does an amount that
// is none without a slot on which it depends: a [Negotiator] evaluates such amounts with each slot.
func (s Schema) Request(ad *classad.ClassAd, nodes int) (backfill.Vector, error) {
	r := make(backfill.Vector, len(s.Resources))
	for i, resource := range s.Resources {
		amount, given, err := whole(ad, "Request"+Attribute(resource), 0, backfill.MaxAmount/int64(nodes))
		if err != nil && !matchmaker.RequestsBySlot(ad, s.Resources[i:i+1]) {
			return nil, err
		}
		if !given && (i == 0 || matchmaker.IsCount(resource)) {
			amount = 1
		}
		r[i] = amount
	}
	if r.Zero() {
		return nil, errors.New("it asks for nothing: RequestCpus must be at least 1 where nothing else is requested")
	}
	return r, nil
}

// cpus returns how many cpus all chunks of a job request; 0: that depends on the slot.
func (s Schema) cpus(j *Job) int64 {
	amount, given, err := whole(j.Ad, "Request"+Attribute(s.Resources[0]), 0, backfill.MaxAmount)
	switch {
	case err != nil:
		return 0
	case !given:
		amount = 1
	}
	return amount * int64(j.Nodes)
}

// check refuses a job with a number of chunks, a time or a request out of bounds. request is what
// each chunk asks for; if nil, it is read from the ad.
func (s Schema) check(j *Job, request backfill.Vector) error {
	switch {
	case j.Nodes < 1 || j.Nodes > backfill.MaxChunks:
		return fmt.Errorf("%d chunks: must be from 1 to %d", j.Nodes, backfill.MaxChunks)
	case j.Estimate < 0 || j.Estimate > backfill.MaxTime || j.Limit < 0 || j.Limit > backfill.MaxTime:
		return fmt.Errorf("estimate %d, limit %d: must be from 0 to %d", j.Estimate, j.Limit, int64(backfill.MaxTime))
	case j.Release < 0 || j.Release > backfill.MaxTime:
		return fmt.Errorf("may not start before %d: must be from 0 to %d", j.Release, int64(backfill.MaxTime))
	}
	tooMuch := func(amount int64) bool { return amount > backfill.MaxAmount/int64(j.Nodes) }
	if request != nil && !slices.ContainsFunc(request, tooMuch) {
		return nil
	}
	_, err := s.Request(j.Ad, j.Nodes)
	return err
}
