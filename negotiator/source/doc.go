// Package source says where the settings of a negotiator come from: flags go over the configuration
// file (YAML), which goes over HTCondor's configuration. It reads them anew for each reload, and
// names the line or the knob that caused an error.
package source
