package metrics

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Unit says what a number counts, and so how to show it to people.
type Unit string

// The units.
const (
	Seconds      Unit = "s"
	WholeSeconds Unit = "whole s"
	CPUSeconds   Unit = "cpu s"
	Share        Unit = "share" // 0 to 1
	Ratio        Unit = "ratio"
	Count        Unit = "count"
)

// Measure is one number of a finished run.
type Measure struct {
	Name  string // in snake_case, as in JSON and CSV
	Label string // for people; "": for programs only
	Unit  Unit
	Value float64
}

// List returns a measure for each metric, in the order of the fields.
func (m Metrics) List() []Measure {
	var list []Measure
	for field, value := range reflect.ValueOf(m).Fields() {
		list = append(list, Measure{
			Name: field.Tag.Get("json"), Label: field.Tag.Get("label"), Unit: Unit(field.Tag.Get("unit")),
			Value: value.Float(),
		})
	}
	return list
}

// Measures is a list of numbers that is written as one JSON object, with the keys in the order of
// the list.
type Measures []Measure

// MarshalJSON writes names and values.
func (m Measures) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	text.WriteByte('{')
	for i, measure := range m {
		if i > 0 {
			text.WriteByte(',')
		}
		name, err := json.Marshal(measure.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(measure.Value)
		if err != nil {
			return nil, err
		}
		text.Write(name)
		text.WriteByte(':')
		text.Write(value)
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}
