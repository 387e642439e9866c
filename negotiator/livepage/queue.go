package livepage

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// Row is a job in the list of those who wait, or several that are alike.
type Row struct {
	Jobs        int    `json:"jobs"`
	ID          int64  `json:"id"`
	Name        string `json:"job"`
	Owner       string `json:"owner"`
	Group       string `json:"group,omitempty"`
	Autocluster string `json:"autocluster"`
	Situation   string `json:"situation"`
	Position    int    `json:"position,omitempty"`
	Cpus        int64  `json:"cpus"`
	Memory      int64  `json:"memory,omitempty"`
	Gpus        int64  `json:"gpus,omitempty"`
	Chunks      int    `json:"chunks"`
	Requested   int64  `json:"requested"`
	Predicted   int64  `json:"predicted,omitempty"`
	Submit      int64  `json:"submit"`
	// Start is the expected start, of several jobs that of the first; Last is that of the last of them.
	Start     picture.Moment `json:"start,omitzero"`
	Last      picture.Moment `json:"last,omitzero"`
	End       picture.Moment `json:"end,omitzero"`
	Low       picture.Moment `json:"low,omitzero"`
	High      picture.Moment `json:"high,omitzero"`
	Guarantee picture.Moment `json:"guarantee,omitzero"`
	Reason    string         `json:"reason"`
	Behind    string         `json:"behind,omitempty"`
	Places    string         `json:"places,omitempty"`
}

// queueAnswer is a page of the queue.
type queueAnswer struct {
	Now    int64    `json:"now"`
	Total  int      `json:"total"` // rows
	Jobs   int      `json:"jobs"`  // jobs in all rows
	Offset int      `json:"offset"`
	Rows   []Row    `json:"rows"`
	Owners []string `json:"owners"` // of all who wait
	Groups []string `json:"groups"`
	// Further counts jobs behind the last that the list has.
	Further int `json:"further"`
}

// mostRows bounds a page.
const mostRows = 1000

// query is which rows are asked for.
type query struct {
	sort, owner, group, autocluster, situation, search string
	descending, alike                                  bool
	offset, limit                                      int
}

// queue lists those who wait.
func (s *Server) queue(out http.ResponseWriter, r *http.Request) {
	q, err := readQuery(r.URL.Query())
	if err != nil {
		answer(out, nil, &BadError{err})
		return
	}
	s.answerOnce(out, r, func(seen *sight) any { return q.of(seen.picture) })
}

// sorts compares rows by each of the sorts.
var sorts = map[string]func(a, b *Row) int{
	"position":  func(a, b *Row) int { return cmp.Compare(uint(a.Position-1), uint(b.Position-1)) }, //nolint:gosec // none comes last
	"start":     func(a, b *Row) int { return compareMoments(a.Start, b.Start) },
	"guarantee": func(a, b *Row) int { return compareMoments(a.Guarantee, b.Guarantee) },
	"submit":    func(a, b *Row) int { return cmp.Compare(a.Submit, b.Submit) },
	"owner":     func(a, b *Row) int { return strings.Compare(a.Owner, b.Owner) },
	"cpus":      func(a, b *Row) int { return cmp.Compare(a.Cpus, b.Cpus) },
	"requested": func(a, b *Row) int { return cmp.Compare(a.Requested, b.Requested) },
	"jobs":      func(a, b *Row) int { return cmp.Compare(a.Jobs, b.Jobs) },
}

// compareMoments has what is not known come last.
func compareMoments(a, b picture.Moment) int {
	switch {
	case a.Known && b.Known:
		return cmp.Compare(a.At, b.At)
	case a.Known:
		return -1
	case b.Known:
		return 1
	}
	return 0
}

func readQuery(v url.Values) (q query, err error) {
	q = query{
		sort: cmp.Or(v.Get("sort"), "position"), owner: v.Get("owner"), group: v.Get("group"), autocluster: v.Get("autocluster"),
		situation: v.Get("situation"), search: strings.ToLower(v.Get("search")), limit: 200,
	}
	if sorts[q.sort] == nil {
		return q, fmt.Errorf("sort=%.40q: must be position, start, guarantee, submit, owner, cpus, requested or jobs", q.sort)
	}
	flag := func(name string) bool {
		text := v.Get(name)
		if text != "" && text != "0" && text != "1" {
			err = cmp.Or(err, fmt.Errorf("%s=%.40q: must be 0 or 1", name, text))
		}
		return text == "1"
	}
	number := func(name string, least, most, usual int) int {
		if !v.Has(name) {
			return usual
		}
		n, wrong := strconv.Atoi(v.Get(name))
		if wrong != nil || n < least || n > most {
			err = cmp.Or(err, fmt.Errorf("%s=%.40q: must be from %d to %d", name, v.Get(name), least, most))
		}
		return n
	}
	q.descending, q.alike = flag("descending"), flag("alike")
	q.offset, q.limit = number("offset", 0, 1<<30, 0), number("limit", 1, mostRows, q.limit)
	return q, err
}

// of returns the rows of a picture.
func (q query) of(p *picture.Picture) queueAnswer {
	a := queueAnswer{Now: p.Head.Now, Offset: q.offset, Rows: []Row{}, Owners: []string{}, Groups: []string{}, Further: p.Head.Further}
	owners, groups := map[string]bool{}, map[string]bool{}
	var rows []Row
	for i := range p.Jobs {
		j := &p.Jobs[i]
		if !j.Waits() {
			continue
		}
		owners[j.Owner], groups[j.Group] = true, true
		if q.wants(j) {
			rows = append(rows, rowOf(j))
			a.Jobs++
		}
	}
	if q.alike {
		rows = merge(rows)
	}
	slices.SortStableFunc(rows, func(x, y Row) int {
		if q.descending {
			return sorts[q.sort](&y, &x)
		}
		return sorts[q.sort](&x, &y)
	})
	delete(groups, "")
	a.Owners, a.Groups = append(a.Owners, sorted(owners)...), append(a.Groups, sorted(groups)...)
	a.Total = len(rows)
	from := min(q.offset, len(rows))
	a.Rows = append(a.Rows, rows[from:min(len(rows), from+q.limit)]...)
	return a
}

func sorted[V any](set map[string]V) []string {
	all := make([]string, 0, len(set))
	for name := range set {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func (q query) wants(j *picture.Job) bool {
	return (q.owner == "" || j.Owner == q.owner) && (q.group == "" || j.Group == q.group) &&
		(q.situation == "" || j.Situation == q.situation) &&
		(q.autocluster == "" || q.autocluster == strconv.Itoa(j.Autocluster)) &&
		(q.search == "" || strings.Contains(strings.ToLower(j.Name+" "+j.Owner+" "+j.Group+" "+j.Reason+" "+j.Places), q.search))
}

// rowOf returns the row of one job.
func rowOf(j *picture.Job) Row {
	r := Row{
		Jobs: 1, ID: int64(j.ID), Name: j.Name, Owner: j.Owner, Group: j.Group, Autocluster: strconv.Itoa(j.Autocluster),
		Situation: j.Situation, Position: j.Position, Cpus: j.Cpus, Chunks: j.Chunks, Requested: j.Requested,
		Predicted: j.Predicted, Submit: j.Submit, Start: j.Told(), End: j.End, Low: j.Low, High: j.High, Guarantee: j.Guarantee,
		Reason: j.Reason, Behind: j.Behind, Places: j.Places, Memory: j.Memory, Gpus: j.Gpus,
	}
	return r
}

// alikeness is what alike jobs have in common.
type alikeness struct {
	owner, group, autocluster, situation string
	cpus, memory, requested, predicted   int64
	guaranteed                           bool
}

// merge makes one row of jobs that are alike, where the first of them was.
func merge(rows []Row) []Row {
	index := map[alikeness]int{}
	var merged []Row
	for i := range rows {
		r := &rows[i]
		key := alikeness{r.Owner, r.Group, r.Autocluster, r.Situation, r.Cpus, r.Memory, r.Requested, r.Predicted, r.Guarantee.Known}
		at, known := index[key]
		if !known {
			index[key] = len(merged)
			merged = append(merged, *r)
			continue
		}
		m := &merged[at]
		if m.Jobs++; m.Jobs == 2 {
			m.Last = m.Start
		}
		m.Last = later(m.Last, r.Start)
		if compareMoments(r.Start, m.Start) < 0 {
			m.Start, m.Low, m.High = r.Start, r.Low, r.High
		}
	}
	return merged
}

// later returns the later one of two moments; one that is not known counts for nothing.
func later(a, b picture.Moment) picture.Moment {
	if !a.Known || b.Known && b.At > a.At {
		return b
	}
	return a
}
