// Package formats has the one list of the formats in which files hold jobs. Everything that reads
// jobs of a file goes through it: it decompresses a file once, recognises its format by how the
// text begins, whatever the file's name, and calls the format's reader.
//
// A format is a [Format] in a file of its own, and a line in [All]. A reader makes a trace of its
// jobs with [workload.Collect], which settles what the format leaves open.
//
//   - [Files] opens files by their names.
//   - [Open] recognises a file, [Source.Read] reads it; [Read] and [ReadFile] do both.
//   - [ReadEnded] reads jobs that ended, for estimators to learn from.
//   - [Named] chooses the format to write a trace in.
//   - [Describe] is the text of condorsim workload formats.
package formats

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/recorded"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
	"github.com/condor-backfill/condor-backfill/negotiator/packed/kinds"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
)

// Format is a way in which files hold jobs.
type Format struct {
	// Holds is what a file in the format holds, as errors say it: "job ads".
	Holds string
	// OfAds says that the jobs have ads: what can be said of ads can be said of a file in the format.
	OfAds bool
	// Recognises reports whether a text may be in the format, by how it begins. The head has no
	// blanks before it, and ends anywhere.
	Recognises func(head []byte) bool
	// Sure says that a text that it recognises is in the format, whatever else it looks like.
	Sure bool
	// Read reads a text. Errors name the file, and the line if it is known.
	Read func(text *packed.Reader, name string, o Options) (*Jobs, error)
	// Description explains the format: a title, and lines below it.
	Description string
	// Write, if not nil, writes a trace into a file whose name ends with Extension, before that of a
	// compression.
	Write     func(t *workload.Trace, to io.Writer) error
	Extension string
}

// All lists the formats: general ones first, since of those that recognise a text the last counts.
// The first takes what no other one recognises; its reader says what is wrong. It is also the one
// that is written unless another is asked for. Package kinds lists what is recognised and not read.
func All() []*Format {
	return []*Format{SWF, Ads, Instance, Batsim, Slurm, PBS, GWF, EventLog, Record}
}

// Options say how to read jobs.
type Options struct {
	workload.Options
	// Ads say how job ads are read. Their Clean is that of the trace.
	Ads history.Options
}

// Jobs is what was read.
type Jobs struct {
	*workload.Trace
	// History has the ads of the jobs, with numbers that Trace refers to; nil unless the file held
	// job ads.
	History *history.History
	// Recorded is the record of which Trace is; nil unless the file was one. Numbers of Trace are places in it.
	Recorded *recorded.Record
}

// Nothing is the error that a file has no job that can be run: it says what became of those that were read, and
// how to keep more if cleaning left out some.
func (j *Jobs) Nothing(name, keepMore string) error {
	err := fmt.Errorf("%s: no job is left to be run of %d that were read; %s", name, j.Cleaning.JobsRead,
		j.Cleaning.LeftOut())
	if h := j.History; h != nil {
		for _, first := range []error{h.Unreadable, h.NoAmount} {
			if first != nil {
				err = fmt.Errorf("%w (%w)", err, first)
			}
		}
	}
	if j.Cleaning.Uncleaned() {
		return fmt.Errorf("%w; %s keeps more", err, keepMore)
	}
	return err
}

// Source is a file of jobs that is open for reading.
type Source struct {
	Format *Format
	text   *packed.Reader
	name   string
}

// Open opens a file, compressed or not, and recognises its format. It returns a *[workload.Error]
// for a kind of file that is known and not read. The name is used in errors and, without folder and
// extensions, for the trace.
func Open(r io.Reader, name string) (*Source, error) {
	text, err := workload.TextOf(r, name, record.AnyVersion)
	if err != nil {
		return nil, err
	}
	head := text.Peek(1 << 12)
	if workload.IsSWF(head) { // most are, and the other kinds need many expressions
		return &Source{SWF, text, name}, nil
	}
	kind, format := kinds.Of(head), recognised(head)
	switch {
	case format.Sure:
	case (kind == nil || kind.General) && workload.NamesFields(head):
		return &Source{SWF, text, name}, nil // which says what is wrong with names
	case kind != nil:
		_ = text.Close() // it was only read
		return nil, &workload.Error{File: name, Problem: kind.Problem(), Hint: kind.Jobs}
	}
	return &Source{format, text, name}, nil
}

// OpenInstance opens a file that is said to hold an instance. It returns a *[workload.Error] if what it holds is
// surely something else.
func OpenInstance(r io.Reader, name string) (*Source, error) {
	text, err := workload.Text(r, name)
	if err != nil {
		return nil, err
	}
	head := bytes.TrimSpace(text.Peek(1 << 12))
	other, swf, kind := recognised(head), workload.IsSWF(head), kinds.Of(head)
	if !swf && !other.Sure && kind == nil && (len(head) == 0 || head[0] == '{' || other == SWF) {
		return &Source{Instance, text, name}, nil
	}
	defer text.Close() //nolint:errcheck // only read
	if kind != nil && !swf && !other.Sure {
		return nil, &workload.Error{File: name, Problem: kind.Problem(), Hint: kind.Jobs}
	}
	return nil, &workload.Error{
		File: name, Problem: "holds " + other.Holds + " and no instance", Hint: "name it without --instance",
	}
}

// Read reads the jobs.
func (s *Source) Read(o Options) (*Jobs, error) { return s.Format.Read(s.text, s.name, o) }

// Close ends reading. The file stays open.
func (s *Source) Close() { _ = s.text.Close() } // it was only read

// Read reads the jobs of a file in any format; see [Open].
func Read(r io.Reader, name string, o Options) (*Jobs, error) {
	s, err := Open(r, name)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Read(o)
}

// ReadFile reads the jobs of the file of that name.
func ReadFile(path string, o Options) (*Jobs, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read trace: %w; check the path", err)
	}
	defer file.Close() //nolint:errcheck // only read
	return Read(file, path, o)
}

// recognised returns the format of a text that begins with head.
func recognised(head []byte) *Format {
	head = bytes.TrimLeft(head, " \t\r\n")
	all := All()
	for _, f := range slices.Backward(all) {
		if f.Recognises(head) {
			return f
		}
	}
	return all[0]
}

// begins returns a function that reports whether a text matches one of some expressions.
func begins(expressions ...string) func(head []byte) bool {
	expression := regexp.MustCompile(strings.Join(expressions, "|"))
	return expression.Match
}

// Named returns the format in which a trace is written into a file of that name: the first one that
// is written unless the name ends with the extension of another, of several the longest. It is an error if the name ends with
// what stands for something else, such as .csv.
func Named(file string) (*Format, error) {
	_, plain := packed.ByName(file)
	var extensions []string
	var named *Format
	all := All()
	for _, f := range all {
		if f.Write == nil {
			continue
		}
		if strings.HasSuffix(strings.ToLower(plain), f.Extension) && (named == nil || len(f.Extension) > len(named.Extension)) {
			named = f
		}
		extensions = append(extensions, f.Extension)
	}
	if named != nil {
		return named, nil
	}
	if end := strings.TrimLeft(filepath.Ext(plain), ".0123456789"); end != "" && end != "txt" { // trace-1.2 is a name
		return nil, fmt.Errorf("%s: no trace is written as %s; end the name with %s, and with .gz, .xz or .zst to have "+
			"it compressed", file, filepath.Ext(plain), strings.Join(extensions, " or "))
	}
	return all[0], nil
}

// Holdings lists what files in the formats that are read hold, as part of a sentence: "a trace in
// the Standard Workload Format, job ads or an instance".
func Holdings() string {
	var list []string
	for _, f := range All() {
		list = append(list, f.Holds)
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// Describe describes the formats, for users who have nothing but the command.
func Describe() string {
	var read, known strings.Builder
	for _, f := range All() {
		read.WriteString("\n" + f.Description)
	}
	for _, k := range kinds.All() {
		if k.Read {
			continue
		}
		fmt.Fprintf(&known, "  %s\n", k.Holds)
	}
	return "What a file holds is seen by how it begins, whatever its name. It may be compressed with gzip, xz or\n" +
		"zstd, and - is standard input.\n" + read.String() + `
Recognised, and not read; the error says how to print ads. Of traces make SWF: a line for each job that
ended, with the numbers above, sorted by submit time.
` + known.String()
}
