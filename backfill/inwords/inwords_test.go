package inwords_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
)

func TestJSON(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "there is nothing in it",
		`{"name": `:                "it ends too early",
		`{"name": 5}`:              "name: a number is given where a text in quotes is expected",
		`{"name": [1]}`:            "name: an array is given where a text in quotes is expected",
		`{"count": 1.5}`:           "count: 1.5 is given where a whole number is expected",
		`{"count": "4"}`:           "count: a string is given where a whole number is expected",
		`{"part": {"ok": 1}}`:      "part.ok: a number is given where true or false is expected",
		`{"part": 1}`:              "part: a number is given where an object is expected",
		`{"list": {}}`:             "list: an object is given where a list is expected",
		`{"share": "x"}`:           "share: a string is given where a number is expected",
		`[]`:                       "an array is given where an object is expected",
		`{"label": 5}`:             `unknown field "label"`,
		`{"name": "a" "count": 4}`: `'"' where a comma or } is expected`,
		"Name = 5":                 "'N' where a value is expected",
		"{name: 5}":                "'n' where a name in quotes, or }, is expected",
		`{"name" 5}`:               "'5' where a colon is expected",
		`{"list": [1 2]}`:          "'2' where a comma or ] is expected",
		"{\"name\": \"a\nb\"}":     `'\n' where a text goes on: write it as an escape, such as \n`,
		`{"name": "\x"}`:           `'x' where an escape such as \n is expected`,
		`{"name": "\u12"}`:         `'"' where one of four hexadecimal digits is expected`,
		`{"count": -}`:             "'}' where a digit is expected",
		`{"count": 1.}`:            "'}' where a digit is expected",
		`{"count": 1e}`:            "'}' where a digit is expected",
		`{"part": tru}`:            "'}' where true, false or null is expected",
	} {
		var into struct {
			Name  string  `json:"name"`
			Count *int    `json:"count"`
			Share float64 `json:"share"`
			List  []int   `json:"list"`
			Part  struct {
				OK bool `json:"ok"`
			} `json:"part"`
		}
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		require.Equal(t, want, inwords.JSON(d.Decode(&into)), text)
	}
	require.Equal(t, "it ends too early", inwords.JSON(json.Unmarshal(nil, new(int))))
}
