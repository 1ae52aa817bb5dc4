# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154  # for the scripts that source this, in a folder that they own: $work
#
# Sourced: a server of our own in $work/ssh, whose process joins those of $boards; $user, $port and $VTA_SSH lead to it.
mkdir -m 700 ssh
ssh-keygen -q -t ed25519 -N '' -f ssh/host
ssh-keygen -q -t ed25519 -N '' -f ssh/user
ssh-keygen -q -t ed25519 -N '' -f ssh/stranger
cp ssh/user.pub ssh/authorized
user=$(id -un)
# As root, sshd wants its own empty folder.
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
start_sshd() {
    # shellcheck disable=SC2013  # words are wanted
    for port in $(awk -v s=$$ 'BEGIN { srand(s); for (i = 0; i < 20; i++) print 20000 + int(rand() * 30000) }'); do
        cat >ssh/config <<X
Port $port
ListenAddress 127.0.0.1
HostKey "$work/ssh/host"
PidFile "$work/ssh/pid"
AuthorizedKeysFile "$work/ssh/authorized"
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
AcceptEnv VTAC_CACHE
X
        "$sshd" -f "$work/ssh/config" -E "$work/ssh/log" -D &
        sshd_pid=$!
        boards="$boards $sshd_pid"
        for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
            [ ! -s ssh/pid ] || return 0
            kill -0 $sshd_pid 2>/dev/null || break
            sleep 0.1
        done
    done
    echo "sshd does not start:"
    cat ssh/log
    exit 1
}
start_sshd
cat >ssh/client <<X
Host *
    IdentityFile "$work/ssh/user"
    IdentitiesOnly yes
    UserKnownHostsFile "$work/ssh/known"
    StrictHostKeyChecking accept-new
    SendEnv VTAC_CACHE
X
export VTA_SSH="ssh -F '$work/ssh/client'"
