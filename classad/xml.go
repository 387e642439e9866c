package classad

import "github.com/condor-backfill/condor-backfill/classad/parser"

// ParseXML parses the first ad of an XML text, as condor_status -xml prints it: an element <c>,
// with or without an element <classads> around it. It is as tolerant as HTCondor; see [parser.XML].
// The error is a [*SyntaxError].
func ParseXML(text string) (*ClassAd, error) { return new(Parser).ParseXML(text) }

// ParseXML parses one ad, as the function [ParseXML] does.
func (p *Parser) ParseXML(text string) (*ClassAd, error) { return p.parseXML(text, "", 1) }

func (p *Parser) parseXML(text, file string, first int) (*ClassAd, error) {
	r, err := parser.XML(text)
	if err != nil {
		return nil, syntaxError(err, file, text, first, "")
	}
	return p.record(r, text), nil
}
