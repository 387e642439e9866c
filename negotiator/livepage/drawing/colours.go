package drawing

import (
	"fmt"
	"strings"
)

// Tone is a colour in two versions.
type Tone struct {
	Name  string // of the custom property in CSS, without the dashes
	Light string // on a light background
	Dark  string // on a dark background
}

// Tones returns the colours of charts. Text has a contrast of at least 4.5 : 1 with the background
// ("ground"), series ("s0" and further) 3 : 1. Any two series can be told apart with any kind of
// colour vision, by lightness if not by hue, which a test in condorsim/output/chart checks.
func Tones() []Tone {
	return []Tone{
		{"grid", "#e3e7ee", "#2b3240"},
		{"axis", "#8a94a6", "#6b7688"},
		{"text", "#1b2230", "#e8ecf4"},
		{"muted", "#5a6577", "#a2adbf"},
		{"heat", "#c2410c", "#f97316"},
		{"alarm", "#a8331a", "#ffb08a"},
		{"ground", "#ffffff", "#171b24"},
		{"s0", "#525cd6", "#278dfd"},
		{"s1", "#e36314", "#c67400"},
		{"s2", "#65906b", "#28cf9f"},
		{"s3", "#c97da6", "#bf3340"},
		{"s4", "#4f0262", "#5a57d7"},
		{"s5", "#a0560a", "#ff9f49"},
		{"s6", "#832160", "#9b5096"},
		{"s7", "#0c9ee1", "#00eeff"},
		{"s8", "#16350a", "#c0ebb8"},
		{"s9", "#706771", "#91868d"},
		{"s10", "#5a4800", "#ffd609"},
		{"s11", "#3a2aaf", "#a9a8e3"},
	}
}

// Colours declares the tones as custom properties of CSS, for what the reader chose and for paper.
// The style base.css has the page's other colours.
func Colours() string {
	var light, dark strings.Builder
	for _, t := range Tones() {
		fmt.Fprintf(&light, "--%s:%s;", t.Name, t.Light)
		fmt.Fprintf(&dark, "--%s:%s;", t.Name, t.Dark)
	}
	return ":root{" + light.String() + "}\n" +
		"@media (prefers-color-scheme:dark){:root:not([data-theme=light]){" + dark.String() + "}}\n" +
		":root[data-theme=dark]{" + dark.String() + "}\n" +
		"@media print{:root,:root[data-theme],:root:not([data-theme=light]){" + light.String() + "}}\n"
}
