package wire

import (
	"math"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// encodeOption encodes the description of an option. The protocol's enumeration of types has one
// more value, unspecified, in front.
func encodeOption(o backfill.Option) *policyv1.Option {
	low, high := o.Range.Bounds()
	return &policyv1.Option{
		Name: Text(o.Name), DefaultValue: Text(o.Default), Doc: Text(o.Doc),
		Type: policyv1.OptionType(o.Type) + 1, Low: low, High: high, Choices: Each(o.Choices, Text),
	}
}

// decodeOption decodes an option. A type that is unknown here, as a newer plugin may have, becomes
// a text, whose values only the plugin checks.
func decodeOption(m *policyv1.Option) backfill.Option {
	o := backfill.Option{Name: m.GetName(), Default: m.GetDefaultValue(), Doc: m.GetDoc()}
	if m.GetType() <= policyv1.OptionType_OPTION_TYPE_TEXT || m.GetType() > policyv1.OptionType_OPTION_TYPE_RESOURCES {
		return o
	}
	o.Type, o.Choices = backfill.OptionType(m.GetType()-1), m.GetChoices()
	if m.Low == nil && m.High == nil {
		return o
	}
	o.Range = backfill.Range{Low: math.Inf(-1), High: math.Inf(1)}
	if m.Low != nil {
		o.Range.Low = m.GetLow()
	}
	if m.High != nil {
		o.Range.High = m.GetHigh()
	}
	return o
}
