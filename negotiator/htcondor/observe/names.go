package observe

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// nobody is charged for what the running jobs of a user use whose name is bad.
const nobody = "nobody@nowhere"

// identities are the labels that say whose a job is, the attributes that they are read from, and
// what judges them. A job with a bad one is not planned. Any other label is left away if it is bad.
var identities = []struct {
	label, attribute string
	check            func(name string) error
}{
	{"owner", "Owner", accountant.CheckName},
	{"group", "AcctGroup", accountant.CheckWords},
	{"project", "ProjectName", accountant.CheckWords},
	{"qos", "QOS", accountant.CheckWords},
}

// readNames reads whose a job is. It errs if some of the ad's names are bad. Those in the Spec are
// good all the same, since they become keys of much that is kept, and since the job may run: it is
// charged to its user then if its accounting group is bad, and to nobody@nowhere if its user is.
func (o *Observer) readNames(s *Spec, ad *classad.ClassAd) error {
	var wrong []error
	bad := func(attribute string, err error) bool {
		if err != nil {
			wrong = append(wrong, fmt.Errorf("its %s: %w", attribute, err))
		}
		return err != nil
	}
	user, _ := o.value(ad, "User").Text()
	if bad("User", accountant.CheckName(user)) {
		user = nobody
	}
	account, _ := o.value(ad, "AccountingGroup").Text()
	if s.isOf(user, account); account != "" && bad("AccountingGroup", accountant.CheckName(s.Submitter())) {
		s.isOf(user, "")
		delete(s.Labels, "account")
	}
	for _, identity := range identities {
		if text, _ := o.value(ad, identity.attribute).Text(); text != "" && bad(identity.attribute, identity.check(text)) {
			delete(s.Labels, identity.label)
		}
	}
	maps.DeleteFunc(s.Labels, func(_, text string) bool { return accountant.CheckWords(text) != nil })
	s.project = s.Labels["project"]
	return errors.Join(wrong...)
}

// omission is what a look leaves out of one kind: how many, and what is wrong with the first.
type omission struct {
	items int
	why   string
}

// leaveOut notes that an ad of a kind is left out, so that the others are not.
func (l *look) leaveOut(kind string, err error) {
	if l.omitted == nil {
		l.omitted = map[string]omission{}
	}
	o := l.omitted[kind]
	if o.items++; o.items == 1 {
		o.why = err.Error()
	}
	l.omitted[kind] = o
}

// tellOmitted lists what was left out as problems, one for each kind.
func (l *look) tellOmitted() {
	for _, kind := range slices.Sorted(maps.Keys(l.omitted)) {
		o := l.omitted[kind]
		l.problem("ads of %s are left out (%d in all): %s", kind, o.items, o.why)
	}
	l.tellOdd()
}
