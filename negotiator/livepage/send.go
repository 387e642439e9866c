package livepage

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// chunk is how many bytes a reader has to take within the time of [patience]; one that takes them may
// take as long as the answer is.
const chunk = 64 << 10

// send writes an answer that many share, as long as its reader takes some of it.
func send(out http.ResponseWriter, text []byte) {
	c := http.NewResponseController(out)
	for len(text) > 0 {
		_ = c.SetWriteDeadline(time.Now().Add(patience))
		n, err := out.Write(text[:min(chunk, len(text))])
		if err != nil {
			return
		}
		text = text[n:]
	}
}

// TakesGzip reports whether a client takes answers in gzip.
func TakesGzip(h http.Header) bool {
	for way := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, quality, _ := strings.Cut(way, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			_, q, _ := strings.Cut(quality, "=")
			weight, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			return err != nil || weight > 0
		}
	}
	return false
}
