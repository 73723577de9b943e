package cli

import (
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Arguments lets arguments of a command begin with a dash, as some IDs do (-1001557), if no flag begins with the same letter. It
// then returns the flags first, and the arguments after "--".
func Arguments(root *cobra.Command, args []string) []string {
	c, rest, err := root.Find(args)
	if err != nil || c.HasSubCommands() {
		return args
	}
	c.InitDefaultHelpFlag()
	_ = c.InheritedFlags() // adds the parents' flags to c.Flags()
	var flags, plain []string
	dashed := false
	for len(rest) > 0 {
		words := flagWords(c.Flags(), rest)
		switch {
		case rest[0] == "--":
			plain, rest = append(plain, rest[1:]...), nil
		case words > 0:
			flags, rest = append(flags, rest[:words]...), rest[words:]
		default:
			dashed = dashed || len(rest[0]) > 1 && rest[0][0] == '-'
			plain, rest = append(plain, rest[0]), rest[1:]
		}
	}
	if !dashed {
		return args
	}
	path := strings.Fields(c.CommandPath())[1:]
	return append(append(append(path, flags...), "--"), plain...)
}

// flagWords returns how many words a flag at the beginning takes, with its value; 0 if the first word isn't a flag.
func flagWords(known *pflag.FlagSet, words []string) int {
	word := words[0]
	if len(word) < 2 || word[0] != '-' {
		return 0
	}
	if name, ok := strings.CutPrefix(word, "--"); ok {
		name, _, hasValue := strings.Cut(name, "=")
		if f := known.Lookup(name); f != nil && f.NoOptDefVal == "" && !hasValue {
			return min(2, len(words))
		}
		return 1 // unknown ones, too: cobra refuses them
	}
	for i, letter := range word[1:] {
		if letter > unicode.MaxASCII {
			return 0
		}
		f := known.ShorthandLookup(string(letter))
		switch {
		case f == nil:
			return 0
		case f.NoOptDefVal == "" && i+2 == len(word):
			return min(2, len(words))
		case f.NoOptDefVal == "":
			return 1
		}
	}
	return 1
}
