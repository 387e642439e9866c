package sdk

import (
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
)

// Outside a plugin, a policy uses hclog's default logger.
func TestLoggerOutsideAPlugin(t *testing.T) {
	require.Same(t, hclog.Default(), Logger())
}

func TestLevelOf(t *testing.T) {
	for name, want := range map[string]hclog.Level{
		"": hclog.Trace, "none": hclog.Trace, "loud": hclog.Trace, "trace": hclog.Trace, "info": hclog.Info,
		"error": hclog.Error, "off": hclog.Off,
	} {
		require.Equal(t, want, levelOf(name), "%q", name)
	}
}
