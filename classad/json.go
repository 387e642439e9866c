package classad

import (
	"errors"
	"unicode/utf8"

	"github.com/condor-backfill/condor-backfill/classad/parser"
)

// ParseJSON parses one ad that is a JSON object, as condor_status -json prints it. A string
// "\/Expr(a + 1)\/" in it, with the slashes escaped, is an expression; null is undefined; of
// members that differ only in case the last one counts. Like HTCondor, it accepts more than JSON
// allows; see [parser.JSON]. The error is a [*SyntaxError].
func ParseJSON(text string) (*ClassAd, error) { return new(Parser).ParseJSON(text) }

// ParseJSON parses one ad, as the function [ParseJSON] does.
func (p *Parser) ParseJSON(text string) (*ClassAd, error) { return p.parseJSON(text, "", 1) }

func (p *Parser) parseJSON(text, file string, first int) (*ClassAd, error) {
	r, err := parser.JSON(text)
	if err != nil {
		return nil, syntaxError(err, file, text, first, "")
	}
	ad := p.record(r, text)
	ad.unread = lostExpressions(ad, text, first)
	return ad, nil
}

// MarshalJSON implements [encoding/json.Marshaler]. It fails if a name is not UTF-8, which JSON
// cannot express.
func (ad *ClassAd) MarshalJSON() ([]byte, error) {
	b := ad.AppendFormat(nil, JSON)
	if !utf8.Valid(b) {
		return nil, errors.New("classad: the name of an attribute is not UTF-8")
	}
	return b, nil
}

// UnmarshalJSON implements [encoding/json.Unmarshaler] like [ParseJSON]. If a program that does not
// know ads decoded and encoded the JSON, expressions have become strings, because their slashes are
// no longer escaped.
func (ad *ClassAd) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil // by convention
	}
	read, err := ParseJSON(string(text))
	if err != nil {
		return err
	}
	*ad = *read
	return nil
}
