package livepage

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/promises"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// shown is a picture as it is, and as everybody may see it.
type shown struct{ clear, masked *picture.Picture }

// sight is what one viewer may see. Whatever is searched, sorted or counted for him is of his picture.
type sight struct {
	access.Lens
	picture *picture.Picture
	clear   *picture.Picture
	shown   *shown
}

// Hide has names be replaced by pseudonyms, as far as viewers may not see them. It is called before the
// first picture is shown.
func (s *Server) Hide(aliases *access.Aliases) { s.aliases = aliases }

// shownOf returns a picture with what everybody may see of it.
func (s *Server) shownOf(p *picture.Picture) *shown {
	if p.Head.Clocks == nil || p.Head.Problems == nil { // no null in JSON
		p = with(p, p.Jobs)
		p.Head.Clocks, p.Head.Problems = notNil(p.Head.Clocks), notNil(p.Head.Problems)
	}
	return &shown{p, masked(p, s.aliases.Everyone())}
}

// sees returns what whoever makes a request may see of the last picture; nil if there is none yet.
func (s *Server) sees(r *http.Request) *sight {
	last := s.last.Load()
	if last == nil {
		return nil
	}
	lens := s.aliases.For(access.Of(r.Context()))
	return &sight{Lens: lens, clear: last.clear, picture: last.to(lens), shown: last}
}

// to returns the picture as a viewer may see it.
func (s *shown) to(l access.Lens) *picture.Picture {
	p := s.masked
	for i := range s.clear.Jobs {
		if j := &s.clear.Jobs[i]; l.Owns(j.Owner) {
			if p == s.masked {
				p = with(p, append([]picture.Job{}, p.Jobs...))
			}
			p.Jobs[i] = maskedJob(j, l)
		}
	}
	return p
}

// with returns a copy of a picture that has other jobs.
func with(p *picture.Picture, jobs []picture.Job) *picture.Picture {
	other := *p
	other.Jobs = jobs
	return &other
}

// masked returns a picture without the names that are not to be seen.
func masked(p *picture.Picture, l access.Lens) *picture.Picture {
	if l.Clear() {
		return p
	}
	jobs := make([]picture.Job, len(p.Jobs))
	for i := range p.Jobs { // so that texts are known to name them
		l.User(p.Jobs[i].Owner)
		l.Group("", p.Jobs[i].Group)
	}
	for i := range p.Jobs {
		jobs[i] = maskedJob(&p.Jobs[i], l)
	}
	other := with(p, jobs)
	other.Head.Problems = texts(p.Head.Problems, l)
	return other
}

func maskedJob(j *picture.Job, l access.Lens) picture.Job {
	other := *j
	other.Owner, other.Group = l.User(j.Owner), l.Group(j.Owner, j.Group)
	other.Name = l.Job(j.Owner, j.Name, int64(j.ID))
	other.Reason, other.Behind = l.Scrub(j.Reason), l.Behind(j.Behind)
	return other
}

func texts(all []string, l access.Lens) []string {
	if l.Clear() {
		return all
	}
	other := make([]string, len(all))
	for i, text := range all {
		other[i] = l.Scrub(text)
	}
	return other
}

// find returns the name of the job that a viewer calls by a name, and its index in the picture; -1 if it
// is in none. Where names are hidden, nothing is told of jobs that are in no picture: nobody knows whose
// they are.
func (s *sight) find(name string) (own string, index int, err error) {
	if s == nil {
		return "", -1, errNothing
	}
	if index = s.picture.Find(name); index >= 0 {
		return s.clear.Jobs[index].Name, index, nil
	}
	if !s.Clear() {
		return "", -1, &NoJobError{fmt.Errorf("no job %.100q is shown: as names are hidden, the others are, too", name)}
	}
	return name, -1, nil
}

// maskExplained hides the names in an explanation.
func maskExplained(x *Explained, l access.Lens) {
	if l.Clear() {
		return
	}
	x.Text = l.Scrub(x.Text)
	if x.Fit == nil {
		return
	}
	fit := *x.Fit
	for _, list := range []*[]Count{&fit.Closed, &fit.Clauses, &fit.Refusals} {
		masked := append([]Count(nil), *list...)
		for i := range masked {
			masked[i].Text = l.Scrub(masked[i].Text)
		}
		*list = masked
	}
	x.Fit = &fit
}

// maskReport hides the names in a report of promises, which is the caller's own.
func maskReport(r *promises.Report, l access.Lens) {
	if l.Clear() {
		return
	}
	for i := range r.Broken {
		b := &r.Broken[i]
		b.Job, b.Owner, b.Cause = l.Job(b.Owner, b.Job, int64(b.ID)), l.User(b.Owner), l.Scrub(b.Cause)
	}
	for i := range r.Guarantees.Causes {
		r.Guarantees.Causes[i].Cause = l.Scrub(r.Guarantees.Causes[i].Cause)
	}
	for i := range r.Delays {
		r.Delays[i].Delayed, r.Delays[i].By = l.User(r.Delays[i].Delayed), l.User(r.Delays[i].By)
	}
	for i := range r.Starts {
		r.Starts[i].Job, r.Starts[i].Owner = l.Job(r.Starts[i].Owner, r.Starts[i].Job, -1), l.User(r.Starts[i].Owner)
	}
}

// maskPool hides the names in what is told of the pool.
func maskPool(a *poolAnswer, l access.Lens) {
	for i := range a.Users {
		u := &a.Users[i]
		u.User, u.Group = l.User(u.User), l.Group(u.User, u.Group)
	}
	a.Problems = texts(a.Problems, l)
	a.Policy.Why = l.Scrub(a.Policy.Why)
}

// maskAnswer hides the names in the answer to a what-if.
func maskAnswer(text []byte, l access.Lens) ([]byte, error) {
	if l.Clear() {
		return text, nil
	}
	var a whatif.Answer
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, errors.New("the answer cannot be told without names")
	}
	a.Notes = texts(a.Notes, l)
	broken := func(all []whatif.Broken) {
		for i := range all {
			all[i].Job, all[i].Owner = l.Job(all[i].Owner, all[i].Job, -1), l.User(all[i].Owner)
		}
	}
	if a.Job != nil {
		broken(a.Job.Broken)
	}
	if a.Change != nil {
		broken(a.Change.Broken)
		for i := range a.Change.Moves {
			m := &a.Change.Moves[i]
			m.Job, m.Owner = l.Job(m.Owner, m.Job, -1), l.User(m.Owner)
		}
	}
	return json.Marshal(a)
}

// quoted is what an error repeats of a question.
var quoted = regexp.MustCompile(`"(?s:.*)"`)

// maskError hides the names in an error. What that repeats of a question is left out: with a pseudonym
// in its place, whoever asks about a name would learn which pseudonym it has.
func maskError(err error, l access.Lens) error {
	if err == nil || l.Clear() {
		return err
	}
	if _, bad := errors.AsType[*BadError](err); bad {
		short := quoted.ReplaceAllString(err.Error(), `"…"`)
		if l.Scrub(short) != short {
			short = "that cannot be answered; why is not shown, as it may name others"
		}
		return &BadError{errors.New(short)}
	}
	text := errors.New(l.Scrub(err.Error()))
	if _, missing := errors.AsType[*NoJobError](err); missing {
		return &NoJobError{text}
	}
	return text
}

// meAnswer is what a viewer is told of himself.
type meAnswer struct {
	User string `json:"user,omitempty"`
	// Names says whose names are seen, and Alias is what he himself is called where all are told alike.
	Names string `json:"names"`
	Alias string `json:"alias,omitempty"`
	// Signed says that he can sign out.
	Signed bool `json:"signed,omitempty"`
	// Own are the names of users of the last picture that are his, and their pseudonyms.
	Own []ownName `json:"own,omitempty"`
}

// ownName is a name under which a viewer has jobs.
type ownName struct {
	User  string `json:"user"`
	Alias string `json:"alias"`
}

// me tells a viewer who he is here.
func (s *Server) me(out http.ResponseWriter, r *http.Request) {
	v := access.Of(r.Context())
	a := meAnswer{User: v.User, Names: string(s.aliases.Names()), Signed: v.Signed}
	if lens := s.aliases.For(v); s.aliases.Names() == access.Own && v.User != "" {
		a.Alias = s.aliases.Alias(v.User)
		if last := s.last.Load(); last != nil {
			for _, u := range users(last.clear) {
				if lens.Owns(u.User) {
					a.Own = append(a.Own, ownName{u.User, s.aliases.Alias(u.User)})
				}
			}
		}
	}
	answer(out, a, nil)
}
