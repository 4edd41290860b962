package archtest

import (
	"testing"
	"testing/fstest"
)

// rule is one sentence of the house that a machine can keep.
type rule struct {
	name string
	why  string
	find func(*tree) []string
	// breaks are sources that the rule must object to.
	breaks []source
}

// source maps file names to contents.
type source map[string]string

var rules = []rule{
	arrows, libraries, templates, guarded, packageDocs, fileBudget, functionBudget, structBudget, interfaceBudget, receivers, initialisers,
	globals, dialling, syncing, exits, logging, logKeys, foreignHosts, sleeping, packageNames, words, topLevel, links,
}

func TestHouse(t *testing.T) {
	tree := house(t)
	if len(tree.files) < 10 {
		t.Fatalf("only %d files were found", len(tree.files))
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, finding := range r.find(tree) {
				t.Errorf("%s\n\tbecause: %s", finding, r.why)
			}
		})
	}
}

func TestRulesFind(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, files := range r.breaks {
				fsys := fstest.MapFS{}
				for name, content := range files {
					fsys[name] = &fstest.MapFile{Data: []byte(content)}
				}
				tree, err := read(fsys)
				if err != nil {
					t.Fatal(err)
				}
				if len(r.find(tree)) == 0 {
					t.Errorf("the rule has nothing against %v", files)
				}
			}
			if len(r.breaks) == 0 {
				t.Error("no source shows that the rule finds anything")
			}
		})
	}
}
