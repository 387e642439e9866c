package host

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
)

func TestWhatIsPrintedIsLogged(t *testing.T) {
	t.Parallel()
	for printed, want := range map[string]string{
		"hello\nworld":                             "[INFO]  hello\n[INFO]  world\n",
		"[WARN] slow\n\n":                          "[WARN]  slow\n",
		"panic: no\n\ngoroutine 1:\n":              "[ERROR] panic: no\n[ERROR] goroutine 1:\n",
		"a\x1b[31m\x00\xff b\r\n":                  "[INFO]  a\uFFFD[31m\uFFFD\uFFFD b\n",
		`{"@message":5,"@level":1}` + "\n":         `[INFO]  {"@message":5,"@level":1}` + "\n",
		`{"@message":"no level"}` + "\n":           `[INFO]  {"@message":"no level"}` + "\n",
		`{"@message":"off","@level":"off"}` + "\n": `[INFO]  {"@message":"off","@level":"off"}` + "\n",
		`{"@message":"a\nb","@level":"warn","@timestamp":3,"z":[1,2],"k":"v\u001b","n":4}` + "\n": `[WARN]  a b: k="v` + "\uFFFD" + `" n=4 z="[1 2]"` + "\n",
		strings.Repeat("x", maxLine) + "y\n":                                                      "[INFO]  " + strings.Repeat("x", maxLine) + "\n[INFO]  y\n",
	} {
		var log bytes.Buffer
		p := newPrinter(hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Trace, DisableTime: true}))
		p.drain(strings.NewReader(printed))
		require.Equal(t, want, log.String())
	}
}
