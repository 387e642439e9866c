package negotiator

import "github.com/condor-backfill/condor-backfill/classad"

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

// LabelsOf reads a job's owner, group, project and so on from its ad; nil if it has none of them.
func LabelsOf(ad *classad.ClassAd) (found map[string]string) {
	for _, l := range labels {
		if text, given := ad.Text(l.attr); given && text != "" {
			if found == nil {
				found = map[string]string{}
			}
			found[l.label] = text
		}
	}
	return found
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
