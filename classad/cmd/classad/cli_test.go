package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	job := write("job.ad", "Requirements = TARGET.Memory >= RequestMemory\nRequestMemory = 100\nRank = 2\n")
	slot := write("slot.ad", "[ Requirements = true; Memory = 200 ]")
	small := write("small.ad", "[ Requirements = true; Memory = 50 ]")
	broken := write("broken.ad", "a = 1\nb = (2\n")
	two := write("two.ad", "[ a = 1 ] [ a = 2 ]")
	cases := write("cases.jsonl", `{"id": "one", "kind": "eval", "expr": "1 + 1"}
{"id": "two", "kind": "eval", "mode": "strict", "expr": "1"}
{"id": "three", "kind": "eval", "mode": "strict", "expr": "1"}
`)

	tests := map[string]struct {
		args []string
		in   string
		code int
		out  string
		errs string
	}{
		"value":   {args: []string{"eval", "2 * 21"}, out: "42\n"},
		"two ads": {args: []string{"eval", "--ad", job, "--target", slot, "Requirements"}, out: "true\n"},
		"input":   {args: []string{"eval", "--ad", "-", "a"}, in: "a = 7", out: "7\n"},
		"bad text": {
			args: []string{"eval", "1 +"}, code: 2,
			errs: "expression:1:4: unexpected end, expected an expression\n1 +\n   ^",
		},
		"bad file":    {args: []string{"eval", "--ad", broken, "1"}, code: 2, errs: "broken.ad:2:7: unexpected end"},
		"two in file": {args: []string{"eval", "--ad", two, "1"}, code: 2, errs: "more than one ad"},
		"no file":     {args: []string{"match", "none", slot}, code: 2, errs: "none"},
		"no command":  {args: nil, code: 2, errs: "expected one of"},
		"help":        {args: []string{"--help"}, out: "Exit codes"},
		"match": {
			args: []string{"match", job, slot},
			out:  "symmetric: true\nleft requirements: true\nleft rank: 2\nright requirements: true\nright rank: 2\n",
		},
		"no match": {args: []string{"match", job, small}, code: 1, out: "symmetric: false\nleft requirements: false"},
		"json": {
			args: []string{"match", "--json", job, small}, code: 1,
			out: `{"symmetric":false,"left":{"requirements":"false","accepts":false,"rank":2},` +
				`"right":{"requirements":"true","accepts":true,"rank":2}}`,
		},
		"cases": {
			args: []string{"eval", "--cases", cases},
			out: `{"id":"one","got":"2","type":"integer"}` + "\n" +
				`{"id":"two","got":"1","type":"integer"}` + "\n" + `{"id":"three","got":"1","type":"integer"}` + "\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errs strings.Builder
			code := run(test.args, strings.NewReader(test.in), &out, &errs)
			require.Equal(t, test.code, code, errs.String())
			require.Contains(t, out.String(), test.out)
			require.Contains(t, errs.String(), test.errs)
		})
	}
}
