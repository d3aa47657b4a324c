#!/bin/sh
# The standard library for Windows: toolchain.sh [build|check]. Prints what a shell has to export, if anything, to compile for it,
# or to check:
#   eval "$(packaging/windows/toolchain.sh)"
# Where rustup has the target, or gets it, that is nearly all. Elsewhere Debian's newest Rust (rustc-web, made for browsers) is
# unpacked beside what is built, its sources of std are compiled for the target, and RUSTC is a compiler that has both. No program
# of the system is installed or replaced; cargo stays the one that there is. A check makes no code: neither of std, nor of the C that
# dependencies have, for which it takes no compiler.
set -eu
cd "$(dirname "$0")/../.."
target=x86_64-pc-windows-gnu
host=x86_64-unknown-linux-gnu
kind=${1:-build}
case $kind in
	# With what link-time optimization needs, as the one that rustup brings.
	build) libraries=rlib profile=release flags="-C embed-bitcode=yes" ;;
	check)
		libraries=rmeta profile=dev flags="-Z no-codegen"
		echo "export CC_x86_64_pc_windows_gnu='$PWD/packaging/windows/no-code.sh' AR_x86_64_pc_windows_gnu='$PWD/packaging/windows/no-code.sh'"
		;;
	*) echo "usage: toolchain.sh [build|check]" >&2; exit 2 ;;
esac
# STD_FROM=debian does without rustup, to try what is below.
if [ "${STD_FROM:-}" != debian ]; then
	if rustup target list --installed 2> /dev/null | grep -qx $target || rustup target add $target >&2; then exit 0; fi
	echo "toolchain.sh: rustup has no $target: its std is built from Debian's sources" >&2
fi
mkdir -p target/windows-std
root=$(cd target/windows-std && pwd -P)
# What one was made of, and how: another of either is made anew.
made_of() {
	apt-cache policy rustc-web | sed -n 's/^ *Candidate: //p'
	cksum < packaging/windows/toolchain.sh
}
of=$(made_of)
if [ "$(cat "$root/made-of" 2> /dev/null)" != "$of" ]; then
	rm -rf "$root"
	mkdir -p "$root/debs/partial" "$root/debian"
	echo "toolchain.sh: fetching rustc-web and its sources" >&2
	apt-get install -y -q --download-only --no-install-recommends -o DPkg::Lock::Timeout=600 -o Dir::Cache::archives="$root/debs" \
		rustc-web rust-web-src binutils-mingw-w64-x86-64 >&2
	for package in "$root"/debs/*.deb; do
		dpkg-deb -x "$package" "$root/debian"
	done
	[ -x "$root/debian/usr/bin/rustc" ] ||
		{ echo "toolchain.sh: rustc-web is installed already: use it, or remove it" >&2; exit 1; }
	rm -rf "$root/debs"
	echo "$of" > "$root/made-of"
fi
rustc=$root/$kind/rustc
if [ ! -e "$root/$kind/is-made" ]; then
	rm -rf "${root:?}/$kind"
	# One folder for both targets. rustc finds the sources there, too.
	sysroot=$root/$kind/sysroot
	mkdir -p "$sysroot/lib/rustlib/$target/lib" "$root/$kind/one/src"
	ln -s "$root/debian/usr/lib/rustlib/$host" "$sysroot/lib/rustlib/$host"
	ln -s "$root/debian/usr/lib/rustlib/src" "$sysroot/lib/rustlib/src"
	# It makes import libraries of std even where it only checks, by a program of binutils.
	cat > "$rustc" <<-END
		#!/bin/sh
		PATH=\$PATH:$root/debian/usr/bin LD_LIBRARY_PATH=$root/debian/usr/lib/x86_64-linux-gnu exec $root/debian/usr/bin/rustc --sysroot $sysroot "\$@"
	END
	chmod +x "$rustc"
	# A package of nothing, whose std is built with it. What that takes is unstable: nothing else is compiled so.
	printf '[package]\nname = "one"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n' > "$root/$kind/one/Cargo.toml"
	: > "$root/$kind/one/src/lib.rs"
	(
		cd "$root/$kind/one"
		CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUSTFLAGS=$flags RUSTC_BOOTSTRAP=1 RUSTC=$rustc \
			"${CARGO:-cargo}" "$kind" --profile $profile --target $target --target-dir "$root/$kind/out" \
			-Z build-std=std,panic_abort,panic_unwind,proc_macro,test >&2
	)
	rm -f "$root/$kind/out/$target/"*/deps/*one-*
	cp "$root/$kind/out/$target/"*/deps/lib*.$libraries "$sysroot/lib/rustlib/$target/lib/"
	rm -rf "$root/$kind/out"
	: > "$root/$kind/is-made"
fi
echo "export RUSTC='$rustc'"
