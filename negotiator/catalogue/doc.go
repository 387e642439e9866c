// Package catalogue describes policies, those that are linked in and plugins, which it starts to ask
// them what they are.
package catalogue
