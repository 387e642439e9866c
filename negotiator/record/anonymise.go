package record

import (
	"regexp"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// harmless are the settings that name nobody.
func harmless(key string) bool {
	switch key {
	case "policy", "fallback", "placement", "plan_depth", "plan_horizon", "reorder", "estimate_trust", "estimates",
		"estimates_order", "estimates_backfill", "estimates_running", "estimates_options", "default_estimate":
		return true
	default:
		return false
	}
}

// entry replaces the names in an entry. Those in states and rounds have been replaced.
func (n *names) entry(e *recordv1.Entry) {
	switch e := e.GetEntry().(type) {
	case *recordv1.Entry_Begin:
		b := e.Begin
		b.Anonymous, b.Pool = true, n.text(hostKind, b.GetPool())
		n.policy(b.GetPolicy())
		n.slots(b.GetSlots())
		n.bundles(b.GetBundles())
		n.limits(b.GetLimits())
		n.jobs(b.GetJobs())
	case *recordv1.Entry_Ad:
		e.Ad.Text = n.ad(e.Ad.GetText())
	case *recordv1.Entry_Labels:
		for _, l := range e.Labels.GetLabels() {
			l.Value = n.text(kindOf(l.GetName()), l.GetValue())
		}
	case *recordv1.Entry_Told:
		n.told(e.Told)
	case *recordv1.Entry_Round:
		e.Round.Refused = backfill.HideReason(e.Round.GetRefused())
	case *recordv1.Entry_Change:
		n.policy(e.Change.GetPolicy())
	}
}

// kindOf returns the kind of the values of a label.
func kindOf(label string) string {
	switch label {
	case "owner", "user", "account":
		return userKind
	case "group", "project":
		return groupKind
	default:
		return wordKind
	}
}

var bracketed = regexp.MustCompile(`\[[^]]*\]`)

// policy leaves out the settings that may name somebody. The order is one of them if it is an expression. Options
// stay, but for those that limit users and groups, each in brackets before its limits, as Maui's usercfg.
func (n *names) policy(p *recordv1.Policy) {
	for _, o := range p.GetOptions() {
		if label, limits := strings.CutSuffix(o.GetName(), "cfg"); limits {
			o.Value = bracketed.ReplaceAllStringFunc(o.GetValue(), func(name string) string {
				return n.text(kindOf(label), name)
			})
		}
	}
	kept := p.GetSettings()[:0]
	for _, s := range p.GetSettings() {
		isPath := strings.ContainsAny(s.GetValue(), `/\`) // of a plugin, in somebody's folder
		if harmless(s.GetName()) && !isPath || s.GetName() == "order" && !strings.Contains(s.GetValue(), ":") {
			kept = append(kept, s)
		}
	}
	p.Settings = kept
}

func (n *names) told(t *recordv1.Told) {
	n.slots(t.GetSlotsUp())
	for i, name := range t.GetSlotsDown() {
		t.SlotsDown[i] = n.text(hostKind, name)
	}
	n.bundles(t.GetBundles())
	n.limits(t.GetLimits())
	for i, name := range t.GetLimitsGone() {
		t.LimitsGone[i] = n.text(wordKind, name)
	}
	n.jobs(t.GetSubmitted())
	n.jobs(t.GetChanged())
	for _, run := range t.GetFound() {
		n.jobs([]*recordv1.Job{run.GetJob()})
		for _, p := range run.GetPlaces() {
			p.Name = n.text(hostKind, p.GetName())
		}
	}
}

func (n *names) slots(list []*recordv1.Slot) {
	for _, s := range list {
		s.Name = n.text(hostKind, s.GetName())
	}
}

func (n *names) bundles(list []*recordv1.Bundle) {
	for _, b := range list {
		b.Name = n.text(hostKind, b.GetName())
		for i, slot := range b.GetSlots() {
			b.Slots[i] = n.text(hostKind, slot)
		}
	}
}

func (n *names) limits(list []*recordv1.Limit) {
	for _, l := range list {
		l.Name = n.text(wordKind, l.GetName())
	}
}

func (n *names) jobs(list []*recordv1.Job) {
	for _, j := range list {
		j.User, j.Name, j.Queue = n.text(userKind, j.GetUser()), n.text(hostKind, j.GetName()), n.queue(j.GetQueue())
		for _, t := range j.GetTakes() {
			t.Limit = n.text(wordKind, t.GetLimit())
		}
	}
}

// settled replaces the names in a round and a journal.
func (n *names) settled(s *policyv1.Settled) {
	r := s.GetRound()
	for _, b := range r.GetBundles() {
		b.Name = n.text(hostKind, b.GetName())
	}
	n.rows(r.GetRows())
	for _, e := range r.GetEvents() {
		n.slot(e.GetSlot())
		n.job(e.GetSpec())
	}
	for _, a := range s.GetJournal() {
		a.Reason = backfill.HideReason(a.GetReason())
	}
}

// state replaces the names in a state.
func (n *names) state(s *policyv1.Snapshot) {
	for _, slot := range s.GetSlots() {
		n.slot(slot.GetSlot())
	}
	for _, b := range s.GetBundles() {
		b.Name = n.text(hostKind, b.GetName())
	}
	n.rows(s.GetRows())
	for _, j := range s.GetJobs() {
		n.job(j.GetJob())
	}
	hideReasons(s)
}

// hideReasons hides why jobs are held. A pseudonym for each name in it would not do: a policy that decides again
// makes the text anew, in which it takes pseudonyms only for the names that it knows to be such.
func hideReasons(s *policyv1.Snapshot) {
	for _, j := range s.GetJobs() {
		j.Held = backfill.HideReason(j.GetHeld())
	}
}

func (n *names) rows(list []*policyv1.Row) {
	for _, r := range list {
		r.Name = n.text(wordKind, r.GetName())
	}
}

func (n *names) slot(s *policyv1.Slot) {
	if s != nil {
		s.Name = n.text(hostKind, s.GetName())
	}
}

func (n *names) job(j *policyv1.Job) {
	if j != nil {
		j.PlaceQueue = n.queue(j.GetPlaceQueue())
	}
}
