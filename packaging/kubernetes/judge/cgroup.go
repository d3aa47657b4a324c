package kubernetes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Cgroup is a group with the limits of a container: in version 1 of cgroups one for each controller, in version 2 one.
type Cgroup struct {
	folders []string
	// homes are the groups that this process is in.
	homes []string
}

// newCgroup makes a group beneath that of this process, which takes its root.
func newCgroup(memory, milliCPU int64) (*Cgroup, error) {
	quota := strconv.FormatInt(milliCPU*100, 10)
	first := &Cgroup{}
	err := errors.Join(
		first.add("memory", map[string]string{"memory.limit_in_bytes": strconv.FormatInt(memory, 10)}),
		first.add("cpu", map[string]string{"cpu.cfs_quota_us": quota}),
	)
	if err == nil {
		return first, nil
	}
	first.remove()
	second := &Cgroup{}
	limits := map[string]string{"memory.max": strconv.FormatInt(memory, 10), "cpu.max": quota + " 100000"}
	if other := second.add("", limits); other != nil {
		second.remove()
		return nil, errors.Join(err, other)
	}
	return second, nil
}

// add makes the group of a controller, of version 2 if it has no name. A limit that the kernel does not offer there is an error.
func (group *Cgroup) add(controller string, limits map[string]string) error {
	home, err := ownCgroup(controller)
	if err != nil {
		return err
	}
	folder := filepath.Join(home, fmt.Sprintf("salver-judge-%d", os.Getpid()))
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	group.folders, group.homes = append(group.folders, folder), append(group.homes, home)
	for name, value := range limits {
		if err := write(filepath.Join(folder, name), value); err != nil {
			return err
		}
	}
	return nil
}

// within runs body in the group, for what it starts.
func (group *Cgroup) within(body func() error) error {
	move := func(folders []string) error {
		var all error
		for _, folder := range folders {
			all = errors.Join(all, write(filepath.Join(folder, "cgroup.procs"), strconv.Itoa(os.Getpid())))
		}
		return all
	}
	if err := move(group.folders); err != nil {
		return errors.Join(err, move(group.homes))
	}
	return errors.Join(body(), move(group.homes))
}

// remove takes the group away once its processes have ended.
func (group *Cgroup) remove() {
	until := time.Now().Add(10 * time.Second)
	for _, folder := range group.folders {
		for os.Remove(folder) != nil && time.Now().Before(until) {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func write(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// ownCgroup returns the folder of this process's group, by controller, or of version 2.
func ownCgroup(controller string) (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	top := ""
	for _, line := range strings.Split(string(mounts), "\n") {
		before, after, _ := strings.Cut(line, " - ")
		fields, kinds := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(kinds) < 3 {
			continue
		}
		isOf := kinds[0] == "cgroup" && slices.Contains(strings.Split(kinds[2], ","), controller)
		if isOf || controller == "" && kinds[0] == "cgroup2" {
			top = fields[4]
			break
		}
	}
	if top == "" {
		return "", fmt.Errorf("no cgroups of %q are mounted", controller)
	}
	for _, line := range strings.Split(string(groups), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) == 3 && slices.Contains(strings.Split(parts[1], ","), controller) {
			folder := filepath.Join(top, parts[2])
			if _, err := os.Stat(folder); err != nil {
				// A container may show its own group as the top.
				return top, nil
			}
			return folder, nil
		}
	}
	return "", fmt.Errorf("this process is in no cgroup of %q", controller)
}
