package negotiator

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// labelled is a label and the job attribute from which it is read.
type labelled struct{ label, attr string }

// labels lists what [LabelsOf] reads from every job.
var labels = []labelled{
	{"owner", "Owner"},
	{"group", "AcctGroup"},
	{"account", "AccountingGroup"},
	{"project", "ProjectName"},
	{"qos", "QOS"},
	{"executable", "Cmd"},
}

// LabelsOf reads a job's owner, group, project and so on from its ad; nil if it has none of them. A
// meter gets what that takes; nil means that nobody asks.
func LabelsOf(ad *classad.ClassAd, m *classad.Meter) (found map[string]string) {
	scope := classad.Scope{My: ad, MaxSteps: classad.FewSteps, Meter: m}
	for _, l := range labels {
		if text, given := scope.Attr(l.attr).Text(); given && text != "" {
			if found == nil {
				found = map[string]string{}
			}
			found[l.label] = Label(text)
		}
	}
	return found
}

// Labels are kept of jobs that have ended, too, and users write them. A longer one is cut after
// cutLabel bytes; what follows is a digest of the whole, so that equal labels stay equal, and
// others different.
const (
	longestLabel = 256
	cutLabel     = 200
)

// Label returns a label as it is kept.
func Label(text string) string {
	if len(text) <= longestLabel {
		return text
	}
	digest := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%s…%x", strings.ToValidUTF8(text[:cutLabel], ""), digest[:8])
}

// EveryLabel returns the names of the labels that [LabelsOf] reads.
func EveryLabel() []string {
	all := make([]string, len(labels))
	for i, l := range labels {
		all[i] = l.label
	}
	return all
}

// attributeOf returns the job attribute from which a label is read; a name that is not in labels is
// itself the attribute.
func attributeOf(label string) string {
	for _, l := range labels {
		if l.label == label {
			return l.attr
		}
	}
	return label
}
