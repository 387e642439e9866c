package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

type fmtCommand struct {
	To      string   `help:"The form: ${enum}." enum:"new,pretty,old,long,json,json-multi,xml,xml-multi" default:"pretty"`
	Private bool     `help:"Write private attributes, too."`
	Files   []string `arg:"" optional:"" help:"Files with ads in any form; - or none is the standard input."`
}

// Help returns what --help adds.
func (*fmtCommand) Help() string {
	return `Forms:
  new         ads in brackets, one a line
  pretty      ads in brackets over several lines
  old, long   lines "name = expression", with an empty line behind every ad
  json        JSON, one object a line
  json-multi  a JSON array of objects over several lines
  xml         XML, one ad a line
  xml-multi   XML over several lines, as condor_status -xml

What is written can be read again, but for an ad without attributes that is alone or in lines. At the first ` +
		`error it ends; the ads before that are written.

Attributes that nobody else must know are left out, as HTCondor's own tools do: ClaimId, ClaimIds, ClaimIdList, ` +
		`ChildClaimIds, PairedClaimId, Capability, TransferKey, and those that begin with _condor_priv.

Examples:
  classad fmt job.ad
  classad fmt --to json-multi slots.long
  condor_status -long | classad fmt --to xml`
}

// layout says how several ads are written one after the other.
type layout struct {
	style                  classad.Style
	begin, separator, last string // before the first ad, between ads, and after the last one
}

const xmlHead = "<?xml version=\"1.0\"?>\n<!DOCTYPE classads SYSTEM \"classads.dtd\">\n<classads>\n"

var layouts = map[string]layout{
	"new":        {style: classad.Brackets, separator: "\n", last: "\n"},
	"pretty":     {style: classad.Pretty, separator: "\n", last: "\n"},
	"old":        {style: classad.Lines, separator: "\n", last: "\n"},
	"long":       {style: classad.Lines, separator: "\n", last: "\n"},
	"json":       {style: classad.JSON, separator: "\n", last: "\n"},
	"json-multi": {style: classad.JSONIndented, begin: "[\n", separator: ",\n", last: "\n]\n"},
	"xml":        {style: classad.XML, begin: xmlHead, separator: "\n", last: "\n</classads>\n"},
	"xml-multi":  {style: classad.XMLIndented, begin: xmlHead, last: "</classads>\n"},
}

// Run writes the ads of all files.
func (c *fmtCommand) Run(s streams) error {
	files := c.Files
	if len(files) == 0 {
		files = []string{"-"}
	}
	f := formatter{layout: layouts[c.To], private: c.Private, out: bufio.NewWriter(s.out)}
	for _, file := range files {
		if err := f.file(s, file); err != nil {
			return errors.Join(err, f.out.Flush())
		}
	}
	return f.end()
}

// formatter writes ads as they arrive.
type formatter struct {
	layout
	private bool // write private attributes
	out     *bufio.Writer
	text    []byte
	ads     int
}

func (f *formatter) file(s streams, file string) error {
	r, err := s.open(file)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	for ad, err := range ads(r, file) {
		if err != nil {
			return err
		}
		if err := f.write(ad); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
	}
	return nil
}

func (f *formatter) write(ad *classad.ClassAd) error {
	between := f.separator
	if f.ads == 0 {
		between = f.begin
	}
	f.ads++
	if !f.private {
		ad = classad.Public(ad)
	}
	f.text = ad.AppendFormat(append(f.text[:0], between...), f.style)
	text := f.text
	if f.ads == 1 {
		text = bytes.TrimPrefix(text, []byte("\n")) // a pretty ad begins with one
	}
	_, err := f.out.Write(text)
	return err
}

// end writes what follows the ads. Without ads it writes nothing, except in formats that enclose
// the ads in something.
func (f *formatter) end() error {
	last := f.last
	if f.ads == 0 {
		if last = ""; f.begin != "" {
			last = f.begin + strings.TrimLeft(f.last, "\n")
		}
	}
	_, err := io.WriteString(f.out, last)
	if err = errors.Join(err, f.out.Flush()); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}
