package record

import (
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// mostKnown bounds how many ads and labels are remembered. When there are more, all are forgotten, and written
// anew where they are used again.
const mostKnown = 1 << 17

// texts numbers ads and labels that were written since the record began, or since there were too many.
type texts struct {
	write func(*recordv1.Entry)
	next  uint64
	// byAd and byLabels find what was met before without looking at it: jobs that are alike share their ads,
	// and those of a user often their labels. They keep what they name in memory.
	byAd     map[*classad.ClassAd]uint64
	byText   map[string]uint64 // of ads
	byLabels map[string]uint64 // of the labels, one after the other
	ad       []byte
}

func newTexts(write func(*recordv1.Entry)) *texts {
	t := &texts{write: write}
	t.forget()
	return t
}

func (t *texts) forget() {
	t.byAd, t.byText, t.byLabels = map[*classad.ClassAd]uint64{}, map[string]uint64{}, map[string]uint64{}
}

// adNumber returns the number of an ad, which is written if it is new; 0 for none.
func (t *texts) adNumber(ad *classad.ClassAd) uint64 {
	if ad == nil {
		return 0
	}
	if number, known := t.byAd[ad]; known {
		return number
	}
	if len(t.byAd) >= mostKnown || len(t.byText) >= mostKnown {
		t.forget()
	}
	t.ad = ad.AppendFormat(t.ad[:0], classad.Brackets)
	number, known := t.byText[string(t.ad)]
	if !known {
		t.next++
		number = t.next
		text := string(t.ad)
		t.byText[text] = number
		t.write(&recordv1.Entry{Entry: &recordv1.Entry_Ad{Ad: &recordv1.Ad{Number: number, Text: wire.Text(text)}}})
	}
	t.byAd[ad] = number
	return number
}

// labelsNumber returns the number of a job's labels, which are written if they are new; 0 for none.
func (t *texts) labelsNumber(labels map[string]string) uint64 {
	if len(labels) == 0 {
		return 0
	}
	settings := settingsOf(labels)
	var key strings.Builder
	for _, s := range settings {
		key.WriteString(s.GetName() + "\x00" + s.GetValue() + "\x00")
	}
	number, known := t.byLabels[key.String()]
	if known {
		return number
	}
	if len(t.byLabels) >= mostKnown {
		t.forget()
	}
	t.next++
	t.byLabels[key.String()] = t.next
	t.write(&recordv1.Entry{Entry: &recordv1.Entry_Labels{Labels: &recordv1.Labels{Number: t.next, Labels: settings}}})
	return t.next
}

// settingsOf returns a map as a list, by ascending name.
func settingsOf(values map[string]string) []*recordv1.Setting {
	list := make([]*recordv1.Setting, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, &recordv1.Setting{Name: wire.Text(name), Value: wire.Text(values[name])})
	}
	return list
}

// MapOf returns a list of settings as a map; nil if it is empty.
func MapOf(list []*recordv1.Setting) map[string]string {
	if len(list) == 0 {
		return nil
	}
	values := make(map[string]string, len(list))
	for _, s := range list {
		values[s.GetName()] = s.GetValue()
	}
	return values
}
