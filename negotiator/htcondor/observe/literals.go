package observe

import (
	"fmt"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// What daemons say of their state they write as constants, and it is read by
// [classad.ClassAd.Literal], which costs nothing: else each ad of a stranger could take a dozen
// evaluations, and again whenever it changes. What may be an expression in a slot's ad is evaluated
// in few steps, so that it takes no longer than to parse the ad. integration/strangers_test.go
// lists all that is evaluated, and who pays.
const slotSteps = 1000

// stateOfSlots are the attributes that slots are read by, and that startds write as constants.
var stateOfSlots = []string{
	"State", "Activity", "Offline", "PartitionableSlot", "DynamicSlot", "IsDataSlot", "BackfillSlot", "DaemonStartTime",
	"EnteredCurrentState", "JobStart", "JobId", "GlobalJobId", "RemoteUser", "LastHeardFrom", "UpdateSequenceNumber", "MyCurrentTime",
}

// stateOfSchedds are those of schedds.
var stateOfSchedds = []string{
	"ScheddIpAddr", "MyAddress", "LastHeardFrom", "MaxJobsRunning", "TotalRunningJobs", "CondorVersion", "TransferQueueMaxUploading",
}

// noteOdd notes, once for each kind of ad, that an ad has expressions in place of constants: they
// count as undefined.
func (l *look) noteOdd(kind, name string, ad *classad.ClassAd, attributes []string) {
	if l.odd[kind] != "" {
		return
	}
	for _, attribute := range attributes {
		e, given := ad.Lookup(attribute)
		if !given {
			continue
		}
		if _, isConstant := e.Tree().(*ast.Literal); !isConstant {
			if l.odd == nil {
				l.odd = map[string]string{}
			}
			l.odd[kind] = fmt.Sprintf("%s %s advertises an expression as its %s, which counts as undefined: daemons write a "+
				"value there; see whether its configuration (such as STARTD_ATTRS) sets that", kind, backfill.Printable(name, longestTold), attribute)
			return
		}
	}
}

// tellOdd lists as problems what noteOdd noted.
func (l *look) tellOdd() {
	for _, kind := range slices.Sorted(maps.Keys(l.odd)) {
		l.problem("%s", l.odd[kind])
	}
}

// Texts returns the texts in an attribute that is a list, and evaluates nothing: other items are
// left out. It returns false if the attribute is no list.
func Texts(ad *classad.ClassAd, name string) (texts []string, isList bool) {
	e, given := ad.Lookup(name)
	if !given {
		return nil, false
	}
	list, isList := e.Tree().(*ast.List)
	if !isList {
		return nil, false
	}
	for _, item := range list.Elems {
		if text, isText := item.(*ast.Literal); isText && text.Kind == ast.String {
			texts = append(texts, text.Text)
		}
	}
	return texts, true
}
