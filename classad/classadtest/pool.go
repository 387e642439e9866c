package classadtest

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// Pool is the benchmark for ClassAd engines: the texts of the slots of a pool in both forms, jobs,
// expressions, and the answers of HTCondor's own library.
type Pool struct {
	Lines, Brackets []string // the slot ads
	Jobs            []*classad.ClassAd
	Exprs           []*classad.Expr
	Texts           []string // of the expressions
	want            []expected
}

// expected is a line of expected.jsonl: about a job or about an expression.
type expected struct {
	Job, Expr   *int
	Want        string
	Matches     int
	FirstMatch  int     `json:"first_match"`
	SlotAccepts int     `json:"slot_accepts"`
	JobAccepts  int     `json:"job_accepts"`
	JobSum      float64 `json:"job_rank_sum"`
	SlotSum     float64 `json:"slot_rank_sum"`
}

// ReadPool reads the files slots.long.gz, slots.new.gz, jobs.long.gz, exprs.txt and expected.jsonl
// of a folder.
func ReadPool(dir string) (*Pool, error) {
	var p Pool
	var err error
	if p.Lines, err = texts(filepath.Join(dir, "slots.long.gz"), "\n\n"); err != nil {
		return nil, err
	}
	if p.Brackets, err = texts(filepath.Join(dir, "slots.new.gz"), "\n"); err != nil {
		return nil, err
	}
	jobs, err := texts(filepath.Join(dir, "jobs.long.gz"), "\n\n")
	if err != nil {
		return nil, err
	}
	for i, text := range jobs {
		ad, bad := classad.ParseOld(text)
		if bad != nil {
			return nil, fmt.Errorf("job %d: %w", i, bad)
		}
		p.Jobs = append(p.Jobs, ad)
	}
	if p.Texts, err = texts(filepath.Join(dir, "exprs.txt"), "\n"); err != nil {
		return nil, err
	}
	if p.Exprs, err = p.ParseExprs(); err != nil {
		return nil, err
	}
	if len(p.Lines) < 2 || len(p.Jobs) < 2 {
		return nil, fmt.Errorf("%s: at least two slots and two jobs are needed", dir)
	}
	return &p, p.readExpected(filepath.Join(dir, "expected.jsonl"))
}

// ParseExprs parses the expressions.
func (p *Pool) ParseExprs() ([]*classad.Expr, error) {
	exprs := make([]*classad.Expr, 0, len(p.Texts))
	for i, text := range p.Texts {
		e, err := classad.ParseExpr(text)
		if err != nil {
			return nil, fmt.Errorf("expression %d: %w", i, err)
		}
		exprs = append(exprs, e)
	}
	return exprs, nil
}

// Bytes returns the total size of the texts.
func Bytes(texts []string) int {
	n := 0
	for _, text := range texts {
		n += len(text)
	}
	return n
}

// HasAnswers reports whether there is anything that [Pool.Check] can compare.
func (p *Pool) HasAnswers() bool { return len(p.want) > 0 }

// texts splits a file, which may be compressed, into parts that each end with a separator.
func texts(file, separator string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	var r io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return nil, fmt.Errorf("%s: %w", file, zipped(err))
		}
	}
	all, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, zipped(err))
	}
	var parts []string
	for part := range strings.SplitSeq(string(all), separator) {
		if strings.TrimSpace(part) != "" {
			parts = append(parts, strings.Clone(part))
		}
	}
	return parts, nil
}

func (p *Pool) readExpected(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var e expected
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		p.want = append(p.want, e)
	}
	return lines.Err()
}

// ParseLines parses the slot ads from their lines.
func (p *Pool) ParseLines() ([]*classad.ClassAd, error) {
	return parseAll(p.Lines, new(classad.Parser).ParseOld)
}

// ParseBrackets parses the slot ads from their bracket form.
func (p *Pool) ParseBrackets() ([]*classad.ClassAd, error) {
	return parseAll(p.Brackets, new(classad.Parser).Parse)
}

func parseAll(texts []string, parse func(string) (*classad.ClassAd, error)) ([]*classad.ClassAd, error) {
	ads := make([]*classad.ClassAd, 0, len(texts))
	for _, text := range texts {
		ad, err := parse(text)
		if err != nil {
			return nil, err
		}
		ads = append(ads, ad)
	}
	return ads, nil
}

// Scope returns the scope of the expressions: the second slot, with the second job as target.
func (p *Pool) Scope(slots []*classad.ClassAd) classad.Scope {
	return classad.Scope{My: slots[1], Target: p.Jobs[1]}
}

// Check compares all matches, ranks and expressions with the answers of HTCondor's library and
// returns the number of pairs of a job and a slot. The error is the first difference.
func (p *Pool) Check(slots []*classad.ClassAd) (pairs int, err error) {
	for _, want := range p.want {
		if (want.Expr == nil) == (want.Job == nil) || want.Expr != nil && uint(*want.Expr) >= uint(len(p.Exprs)) ||
			want.Job != nil && uint(*want.Job) >= uint(len(p.Jobs)) {
			return pairs, fmt.Errorf("an expected answer is about neither a job nor an expression: %+v", want)
		}
		if want.Expr != nil {
			if got := p.Exprs[*want.Expr].Eval(p.Scope(slots)).String(); got != want.Want {
				return pairs, fmt.Errorf("expression %d is %s, expected %s", *want.Expr, got, want.Want)
			}
			continue
		}
		got := p.count(p.Jobs[*want.Job], slots)
		got.Job = want.Job
		if math.Abs(got.JobSum-want.JobSum) < 1e-6*math.Abs(want.JobSum) {
			got.JobSum = want.JobSum
		}
		if math.Abs(got.SlotSum-want.SlotSum) < 1e-6*math.Abs(want.SlotSum) {
			got.SlotSum = want.SlotSum
		}
		if got != want {
			return pairs, fmt.Errorf("job %d: got %+v, expected %+v", *want.Job, got, want)
		}
		pairs += len(slots)
	}
	return pairs, nil
}

func (p *Pool) count(job *classad.ClassAd, slots []*classad.ClassAd) expected {
	var e expected
	e.FirstMatch = -1
	for i, slot := range slots {
		if classad.Accepts(slot, job) {
			e.SlotAccepts++
		}
		if classad.Accepts(job, slot) {
			e.JobAccepts++
		}
		if classad.Match(job, slot) {
			if e.Matches++; e.FirstMatch < 0 {
				e.FirstMatch = i
			}
			e.JobSum += classad.Rank(job, slot)
			e.SlotSum += classad.Rank(slot, job)
		}
	}
	return e
}
