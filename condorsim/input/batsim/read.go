package batsim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// maxFile bounds the bytes of a file, decompressed; it is some four million jobs.
const maxFile = 1 << 30

const hint = "condorsim workload formats describes what is read of Batsim"

// file is a workload of Batsim.
type file struct {
	resources int64
	jobs      []job
	profiles  map[string]profile
	machine   machine
}

// job is a job as Batsim has it.
type job struct {
	ID       json.RawMessage `json:"id"` // a text or a number
	Submit   *float64        `json:"subtime"`
	Res      *float64        `json:"res"`
	Walltime *float64        `json:"walltime"`
	Profile  string          `json:"profile"`
	Extra    json.RawMessage `json:"extra_data"` // a text, or an object
}

// profile is what a job does.
type profile struct {
	Type  string   `json:"type"`
	Delay *float64 `json:"delay"`
}

// delays reports whether the profile is a delay, by the name of any version of Batsim.
func (p profile) delays() bool { return p.Type == "delay" || p.Type == "DelayProfile" }

// Read reads a workload of Batsim; [workload.Collect] applies the options. Fields that are not known are
// ignored, as there and as Batsim does. Errors are of type *[workload.Error], or those of the options.
func Read(from io.Reader, name string, o workload.Options) (*workload.Trace, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err != nil {
		return nil, workload.Unreadable(name, err)
	}
	if len(text) > maxFile {
		return nil, &workload.Error{File: name, Problem: "the workload is longer than 1 GiB", Hint: "give it as SWF"}
	}
	f, err := parse(text, name)
	if err != nil {
		return nil, err
	}
	return f.trace(name, o)
}

// parse reads the JSON job by job, so that a fault is told with its place.
func parse(text []byte, name string) (*file, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	fault := func(err error) error { return workload.FaultOfJSON(name, text, decoder.InputOffset(), err, hint) }
	f := &file{profiles: map[string]profile{}}
	decode := func(value any) error {
		begin := decoder.InputOffset()
		err := decoder.Decode(value)
		if kind, wrong := errors.AsType[*json.UnmarshalTypeError](err); wrong {
			kind.Offset += begin // it is counted from there
		}
		return err
	}
	keys := map[string]func() error{
		"nb_res": func() error { return decode(&f.resources) },
		"jobs": func() error {
			return each(decoder, '[', func(string) error {
				var j job
				err := decode(&j)
				f.jobs = append(f.jobs, j)
				return err
			})
		},
		"profiles": func() error {
			return each(decoder, '{', func(key string) error {
				var p profile
				if err := decode(&p); err != nil {
					return err
				}
				f.profiles[key] = p
				return nil
			})
		},
		keyTrace: func() error { return decode(&f.machine) },
	}
	err := each(decoder, '{', func(key string) error {
		if read, known := keys[key]; known {
			return read()
		}
		var ignored json.RawMessage
		return decode(&ignored)
	})
	if err != nil {
		return nil, fault(err)
	}
	if _, err = decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fault(errors.New("there is more behind the end of the workload"))
	}
	return f, nil
}

// each calls a function for each element of a list or object, with its key.
func each(decoder *json.Decoder, begin json.Delim, read func(key string) error) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	if token != begin {
		return fmt.Errorf("here %c must begin", begin)
	}
	for decoder.More() {
		key := ""
		if begin == '{' {
			token, err = decoder.Token()
			if err != nil {
				return err
			}
			key, _ = token.(string)
		}
		if err = read(key); err != nil {
			return err
		}
	}
	_, err = decoder.Token()
	return err
}

// extras returns what extra_data says; nothing if it is no JSON object, which other people may mean otherwise.
func (j *job) extras() (x extra) {
	text := []byte(j.Extra)
	var quoted string
	if json.Unmarshal(text, &quoted) == nil {
		text = []byte(quoted)
	}
	if json.Unmarshal(text, &x) != nil {
		return extra{}
	}
	return x
}

// name returns the name of the job, without that of its workload: 7 of "w0!7".
func (j *job) name() string {
	var text string
	if json.Unmarshal(j.ID, &text) != nil {
		text = string(j.ID)
	}
	return text[strings.LastIndexByte(text, '!')+1:]
}
