#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# vtac-agent over a real sshd on this machine: its own keys, an unprivileged port, nothing of the user's configuration.
# Arguments: those of there.sh. Without Debian's openssh-server, exit status 77.
sshd=$(command -v sshd || echo /usr/sbin/sshd)
[ -x "$sshd" ] || { echo "no sshd: 'apt-get install openssh-server'"; exit 77; }
# shellcheck source=tests/board/lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck source=tests/board/sshd.sh
. "$here/sshd.sh"
there() {
    case $1 in
    *\?*) echo "ssh://$user@127.0.0.1:$port/$1&agent=$agent" ;;
    *) echo "ssh://$user@127.0.0.1:$port/$1?agent=$agent" ;;
    esac
}
# The connection, not the agent: sshd's process for it.
cut_line() { kill -KILL "$(ps -o ppid= -p "$(pgrep -f "^$agent --stdio" | head -n 1)" | tr -d ' ')"; }
# shellcheck source=tests/board/there.sh
. "$here/there.sh"

# ---- networks are timed on two boards at once, one of which hangs with its second
cat >hangs.sh <<X
#!/bin/sh
count=\$(cat '$work/count' 2>/dev/null || echo 0)
echo \$((count + 1)) >'$work/count'
[ \$count != 1 ] || { echo \$\$ >'$work/hung'; exec sleep 1000; }
exec '$agent' "\$@"
X
chmod +x hangs.sh
vtac zoo tiny_kws -o kws.onnx
vtac tune kws.onnx --tuner random --trials 8 --repeat 2 --device "$(there fsim)" --device "ssh://$user@127.0.0.1:$port/fsim?agent=$work/hangs.sh"
exits 0
silent err
says out "8 trials"
holds "one trial at most is lost" test "$(grep null tune.jsonl | cut -d, -f1-4 | sort | uniq -d | wc -l)" -eq 0
[ ! -e hung ] || kill "$(cat hung)" 2>/dev/null # what hangs there is there

# ---- what ssh itself refuses
vtac run "$model" --device "ssh://$user@127.0.0.1:$port/fsim?agent=$work/nothing"
refused 1 "install the board package there, or name the agent with '?agent=PATH'"
sed -i 's/ssh.user"$/ssh\/stranger"/' ssh/client
vtac run "$model" --device "$(there fsim)"
refused 1 "Permission denied"
says err "must work without a password"
sed -i 's/ssh.stranger"$/ssh\/user"/' ssh/client
ssh-keygen -q -t ed25519 -N '' -f ssh/other
{ printf '[127.0.0.1]:%s ' "$port"; cut -d' ' -f1,2 ssh/other.pub; } >ssh/known
vtac run "$model" --device "$(there fsim)"
refused 1 "must work without a password"
rm ssh/known
kill $sshd_pid
wait $sshd_pid 2>/dev/null
vtac run "$model" --device "$(there fsim)"
refused 1 "Connection refused"
vtac run "$model" --device "ssh://-oProxyCommand=touch,x"
refused 1 "expected ssh://[USER@]HOST[:PORT][/DEVICE]"
vtac run "$model" --device "ssh://host:port/uio"
refused 1 "expected ssh://[USER@]HOST[:PORT][/DEVICE]"
nobody "$agent --stdio"
finish
