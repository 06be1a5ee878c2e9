#!/usr/bin/env bash
# Builds a system extension of one's own for one release of Flatcar, in Flatcar's SDK container.
#
#   build.sh driver         FLATCAR VERSION   NVIDIA's open kernel modules and libraries
#   build.sh fabric-manager FLATCAR VERSION   Fabric Manager in exactly the driver's version
#   build.sh efa            FLATCAR VERSION   the EFA driver; VERSION is a tag of amzn-drivers without efa_linux_
#
# Writes NAME.raw and NAME.raw.sha512 into the current folder; gpu-fleet:versions takes the address that it is put
# at, with #sha512-<checksum>. Needs git, curl, docker and squashfs-tools, and 40 GB of disk for a driver.
#
# Nobody has run this file: it follows flatcar/scripts at stable-4593.2.5 (build_sysext, extra_sysexts.sh,
# sysext_mangle_kmod) as it reads. It stops at the first step that fails.
set -euo pipefail

usage() {
  sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

[[ $# -eq 3 ]] || usage
kind=$1 flatcar=$2 version=$3
[[ $flatcar =~ ^[0-9]+(\.[0-9]+){2}$ && $version =~ ^[0-9]+(\.[0-9]+)+$ ]] || usage

out=$PWD
work=$(mktemp --directory)
trap 'rm --recursive --force "$work"' EXIT

get() { # ADDRESS FILE
  curl --fail --silent --show-error --location --retry 5 --output "$2" "$1"
}

# Clones flatcar/scripts at the release, with the image that the extension is laid over.
scripts() {
  git clone --quiet --depth 1 --branch "stable-$flatcar" https://github.com/flatcar/scripts "$work/scripts"
  cd "$work/scripts"
  get "https://stable.release.flatcar-linux.net/amd64-usr/$flatcar/flatcar_production_image_sysext.squashfs" base.squashfs
}

in_sdk() { # runs a command in the SDK container of the release
  ./run_sdk_container -a amd64 -v "$flatcar" -n "extension-$kind" -- "$@"
}

done_with() { # FILE NAME
  mv "$1" "$out/$2"
  cd "$out"
  sha512sum "$2" | tee "$2.sha512"
}

driver() {
  local branch=${version%%.*} ebuilds name
  # setup-nvidia of the release looks for this name, and compiles a driver where it finds none
  name=flatcar-nvidia-drivers-$branch-open
  scripts
  ebuilds=sdk_container/src/third_party/coreos-overlay/x11-drivers/nvidia-drivers
  # the ebuild of the newest branch of the release takes its sources and its slot from its file name
  cp "$(find "$ebuilds" -name 'nvidia-drivers-*.ebuild' | sort --version-sort | tail --lines 1)" \
    "$ebuilds/nvidia-drivers-$version.ebuild"
  ln --symbolic sysext_mangle_flatcar-nvidia-drivers-535 "build_library/sysext_mangle_$name"
  in_sdk bash -euxc "
    ebuild ~/trunk/src/scripts/$ebuilds/nvidia-drivers-$version.ebuild manifest
    export USE='kernel-open persistenced' ACCEPT_LICENSE='*'
    emerge-amd64-usr --getbinpkg --onlydeps =x11-drivers/nvidia-drivers-$version
    emerge-amd64-usr --nodeps --buildpkgonly =x11-drivers/nvidia-drivers-$version
    sudo --preserve-env=USE ./build_sysext --board=amd64-usr --squashfs_base=base.squashfs --image_builddir=made \
      --install_root_basename=$name-extra-sysext-rootfs \
      --manglefs_script=build_library/sysext_mangle_$name $name x11-drivers/nvidia-drivers:0/$branch
  "
  done_with "made/$name.raw" "$name-$version-flatcar-$flatcar.raw"
}

efa() {
  scripts
  git clone --quiet --depth 1 --branch "efa_linux_$version" https://github.com/amzn/amzn-drivers drivers
  # shellcheck disable=SC2016  # the shell in the container expands it
  in_sdk bash -euxc '
    emerge-amd64-usr --getbinpkg sys-kernel/coreos-modules sys-kernel/coreos-sources
    kernel=$(basename /build/amd64-usr/lib/modules/*)
    cmake -S drivers/kernel/linux/efa -B drivers/build -DKERNEL_VER="$kernel" \
      -DKERNEL_DIR="/build/amd64-usr/lib/modules/$kernel/build"
    make --directory drivers/build
    install -D --mode 644 --target-directory "tree/usr/lib/modules/$kernel/extra" drivers/build/src/efa.ko
  '
  # an extension cannot add to modules.dep: the unit loads the module by its path
  mkdir --parents tree/usr/lib/systemd/system/multi-user.target.d
  cat > tree/usr/lib/systemd/system/efa.service << 'UNIT'
[Unit]
Description=Driver of EFA interfaces
Before=kubelet.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/modprobe --all ib_uverbs
ExecStart=/usr/bin/sh -c 'exec insmod /usr/lib/modules/$(uname -r)/extra/efa.ko'
UNIT
  printf '[Unit]\nUpholds=efa.service\n' > tree/usr/lib/systemd/system/multi-user.target.d/10-efa.conf
  packed efa "VERSION_ID=$flatcar" "efa-$version-flatcar-$flatcar.raw"
}

fabric_manager() {
  local archive=fabricmanager-linux-x86_64-$version-archive
  local address=https://developer.download.nvidia.com/compute/nvidia-driver/redist/fabricmanager/linux-x86_64
  cd "$work"
  get "$address/$archive.tar.xz" archive.tar.xz
  tar --extract --file archive.tar.xz
  install -D --mode 755 --target-directory tree/usr/bin "$archive"/bin/nv-fabricmanager
  install -D --mode 644 --target-directory tree/usr/share/nvidia/nvswitch "$archive"/share/nvidia/nvswitch/* "$archive"/etc/fabricmanager.cfg
  install -D --mode 644 --target-directory tree/usr/lib/systemd/system "$archive"/systemd/nvidia-fabricmanager.service
  # it is a program alone and runs on every release
  packed nvidia-fabricmanager SYSEXT_LEVEL=1.0 "nvidia-fabricmanager-$version-x86-64.raw"
}

packed() { # NAME LEVEL FILE: packs the folder tree
  mkdir --parents tree/usr/lib/extension-release.d
  printf 'ID=flatcar\n%s\nARCHITECTURE=x86-64\n' "$2" > "tree/usr/lib/extension-release.d/extension-release.$1"
  mksquashfs tree made.raw -all-root -noappend -quiet
  done_with made.raw "$3"
}

case $kind in
  driver) driver ;;
  efa) efa ;;
  fabric-manager) fabric_manager ;;
  *) usage ;;
esac
