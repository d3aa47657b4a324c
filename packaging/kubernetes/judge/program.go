package kubernetes

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// Image is what packaging/oci/Containerfile says of how a container starts.
type Image struct {
	User       int64
	WorkDir    string
	Entrypoint []string
	Env        map[string]string
}

func readImage() (*Image, error) {
	text, err := os.ReadFile("../../oci/Containerfile")
	if err != nil {
		return nil, err
	}
	image := &Image{Env: map[string]string{}}
	for _, line := range strings.Split(string(text), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "USER":
			user, _, _ := strings.Cut(rest, ":")
			image.User, err = strconv.ParseInt(user, 10, 64)
		case "WORKDIR":
			image.WorkDir = rest
		case "ENTRYPOINT":
			err = json.Unmarshal([]byte(rest), &image.Entrypoint)
		case "ENV":
			for _, one := range strings.Fields(rest) {
				name, value, _ := strings.Cut(one, "=")
				image.Env[name] = value
			}
		}
		if err != nil {
			return nil, fmt.Errorf("Containerfile: %s: %w", line, err)
		}
	}
	if image.User == 0 || image.WorkDir == "" || len(image.Entrypoint) == 0 || len(image.Env) == 0 {
		return nil, fmt.Errorf("Containerfile: it says not all of how a container starts: %+v", image)
	}
	return image, nil
}

// Help is what `salver serve --help` knows.
type Help struct {
	Flags     map[string]bool
	Variables map[string]bool
}

var (
	flagLine     = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z][a-z0-9-]*)`)
	variableWord = regexp.MustCompile(`SALVER_[A-Z0-9_]+`)
)

// program returns the path of the program that is judged with.
func program() (string, error) {
	path := os.Getenv("SALVER_PROGRAM")
	if path == "" {
		return "", fmt.Errorf("name the program by the variable SALVER_PROGRAM, as run.sh does")
	}
	return path, nil
}

func readHelp() (*Help, error) {
	path, err := program()
	if err != nil {
		return nil, err
	}
	text, err := exec.Command(path, "serve", "--help").Output()
	if err != nil {
		return nil, err
	}
	help := &Help{Flags: map[string]bool{}, Variables: map[string]bool{}}
	for _, found := range flagLine.FindAllStringSubmatch(string(text), -1) {
		help.Flags[found[1]] = true
	}
	for _, name := range variableWord.FindAllString(string(text), -1) {
		help.Variables[name] = true
	}
	if len(help.Flags) < 50 || len(help.Variables) < 50 {
		return nil, fmt.Errorf("the help of %s has %d flags and %d variables", path, len(help.Flags), len(help.Variables))
	}
	return help, nil
}
