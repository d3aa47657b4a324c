// Package kubernetes judges the chart and the manifests beside it: by Helm, by the types of the Kubernetes API, by rules of
// Salver's own, and by starting what the pods would start.
package kubernetes

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

const (
	chartFolder     = "../chart"
	casesFolder     = "../cases"
	manifestsFolder = "../manifests"
	releaseName     = "site"
)

// Case is a file of values, and what the chart renders of it.
type Case struct {
	Name   string
	About  string
	Values chartutil.Values
}

// cases returns the files of values, by name.
func cases() ([]Case, error) {
	paths, err := filepath.Glob(filepath.Join(casesFolder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var found []Case
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		values, err := chartutil.ReadValues(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		about, isComment := strings.CutPrefix(first, "# ")
		if !isComment {
			return nil, fmt.Errorf("%s: the first line is a comment that says what the case is", path)
		}
		found = append(found, Case{
			Name:   strings.TrimSuffix(filepath.Base(path), ".yaml"),
			About:  about,
			Values: values,
		})
	}
	return found, nil
}

// load reads the chart, in which nothing may be that is no regular file.
func load() (*chart.Chart, error) {
	err := filepath.WalkDir(chartFolder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !entry.Type().IsRegular() {
			return fmt.Errorf("%s is no regular file", path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return loader.LoadDir(chartFolder)
}

// render returns the documents that the chart makes of values, in the order of their templates, as one text; and the notes.
func render(values chartutil.Values) (string, string, error) {
	loaded, err := load()
	if err != nil {
		return "", "", err
	}
	release := chartutil.ReleaseOptions{Name: releaseName, Namespace: "default", Revision: 1, IsInstall: true}
	complete, err := chartutil.ToRenderValues(loaded, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return "", "", err
	}
	files, err := engine.Engine{Strict: true}.Render(loaded, complete)
	if err != nil {
		return "", "", err
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	var texts []string
	notes := ""
	for _, name := range names {
		text := strings.TrimSpace(files[name])
		switch {
		case strings.HasSuffix(name, "NOTES.txt"):
			notes = text
		case text != "":
			texts = append(texts, text+"\n")
		}
	}
	return strings.Join(texts, "---\n"), notes, nil
}

// manifest returns the file of a case, with what it is before it.
func manifest(one Case) (string, error) {
	text, _, err := render(one.Values)
	if err != nil {
		return "", fmt.Errorf("%s: %w", one.Name, err)
	}
	const head = "# %s\n# Made of ../chart and ../cases/%s.yaml by `SALVER_REWRITE=1 make kubernetes-judges`.\n%s"
	return fmt.Sprintf(head, one.About, one.Name, text), nil
}
