BEGIN TRANSACTION;
CREATE TABLE events (
	id INTEGER NOT NULL, 
	t FLOAT NOT NULL, 
	type TEXT NOT NULL, 
	node TEXT NOT NULL, 
	data TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "events" VALUES(1099511627777,1.76000000026628828047e+09,'run_started','','{"worker":{"kind":"function","options":{"function":"golden_work:work"}},"sol":"rules","sol_model":null,"luna_model":"local","base_url":null,"workspace":"{WORKSPACE}","kind":"workflow","name":"flow","file":"{WORKSPACE}/flow.yaml","program":"flow.yaml","task":"a hut","max_steps":2,"interactive":false,"report_dir":"sol-reports/ng3csk","definition":{"flow.yaml":{"":{"initial_step":"dbf9868785714c25","max_steps":"6b51d431df5d7f14","loop_monitors":"26399bc475202646"},"plan":{"persona":"4f53cda18c2baa0c","instruction":"06d6da81558510c4","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"5cd925abce998748","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"0b8eefbf2bfb5a12","parallel":"bb5bb1b3a77487ee"},"reviews":{"persona":"4f53cda18c2baa0c","instruction":"4f53cda18c2baa0c","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"0a98326d1b90e938","parallel":"d249b5c20403ce99"},"facts":{"persona":"4f53cda18c2baa0c","instruction":"253d2b0f07039b8f","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"3754538eda706b24","parallel":"bb5bb1b3a77487ee"},"style":{"persona":"4f53cda18c2baa0c","instruction":"b69ddbab64c82d04","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"3754538eda706b24","parallel":"bb5bb1b3a77487ee"},"slow":{"persona":"4f53cda18c2baa0c","instruction":"d3d7f4d5a6941f0a","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"3754538eda706b24","parallel":"bb5bb1b3a77487ee"},"check":{"persona":"4f53cda18c2baa0c","instruction":"4f53cda18c2baa0c","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"3943db33ad481248","args":"44136fa355b3678a","rules":"ca4f3a6474cff23b","parallel":"bb5bb1b3a77487ee"},"last":{"persona":"4f53cda18c2baa0c","instruction":"71539b1284442a80","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"6c5475f7c3947a25","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"124b9d0a1e21dbeb","parallel":"bb5bb1b3a77487ee"},"monitor-1":{"persona":"4f53cda18c2baa0c","instruction":"61df84330714f10a","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"fcbcf165908dd18a","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"857f1f4b0aa0f5af","parallel":"bb5bb1b3a77487ee"}},"checks.yaml":{"":{"initial_step":"b3f95c301a7f764b","max_steps":"4a44dc15364204a8","loop_monitors":"4f53cda18c2baa0c"},"look":{"persona":"4f53cda18c2baa0c","instruction":"cb765e09ed31dbec","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"4020f44a3461c524","parallel":"bb5bb1b3a77487ee"},"measure":{"persona":"4f53cda18c2baa0c","instruction":"f0fe2ca8fe416ff8","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"fbd4aec35ea6adad","parallel":"bb5bb1b3a77487ee"}}},"warnings":[],"strategy":{"name":"binary","description":"Try a task first; split it in two when a Luna is stuck on it; verify and integrate upwards.","attempt":"first","max_depth":10000,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}}}');
INSERT INTO "events" VALUES(1099511627778,1.76000000026628828047e+09,'created','plan#1','{"step":"plan","up":"","frame":"","content":"743a6a63e7691fd8","n":1,"iteration":1}');
INSERT INTO "events" VALUES(1099511627779,1.76000000026628828047e+09,'started','plan#1','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627780,1.76000000030863523485e+09,'reported','plan#1','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.015689,"report":{"summary":"done","result":"plan went well. [PLAN:1]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627781,1.76000000030863523485e+09,'started','plan#1','{"kind":"file","n":1}');
INSERT INTO "events" VALUES(1099511627782,1.76000000031612539291e+09,'answer','plan#1','{"kind":"file","n":1,"answer":{"files":{"plan.md":"b7c53671d4fffbfa8f6922423ec98562cf00a2e50aed0f551fd241945d3c8e08"}}}');
INSERT INTO "events" VALUES(1099511627783,1.76000000031612539291e+09,'decided','plan#1','{"section":"rules","rule":0,"kind":"label","condition":"the plan is ready","next":"reviews","read":{"tag":"[PLAN:1]"},"verdict":"the plan is ready"}');
INSERT INTO "events" VALUES(1099511627784,1.76000000031612539291e+09,'settled','plan#1','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627785,1.76000000031612539291e+09,'created','reviews#1','{"step":"reviews","up":"","frame":"","content":"d8efce30d84b9a86","n":1,"iteration":2,"parallel":true}');
INSERT INTO "events" VALUES(1099511627786,1.76000000031612539291e+09,'created','reviews#1/facts','{"step":"facts","up":"reviews#1","frame":"","content":"b10af52b91ac6c1a","inner":true,"n":1,"iteration":2}');
INSERT INTO "events" VALUES(1099511627787,1.76000000031612539291e+09,'created','reviews#1/style','{"step":"style","up":"reviews#1","frame":"","content":"78bd0e84db4c1724","inner":true,"n":1,"iteration":2}');
INSERT INTO "events" VALUES(1099511627788,1.76000000031612539291e+09,'created','reviews#1/slow','{"step":"slow","up":"reviews#1","frame":"","content":"21795ce1a850de36","inner":true,"n":1,"iteration":2}');
INSERT INTO "events" VALUES(1099511627789,1.76000000031612539291e+09,'started','reviews#1/facts','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627790,1.76000000031612539291e+09,'started','reviews#1/style','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627791,1.76000000031612539291e+09,'started','reviews#1/slow','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627792,1.76000000034641981123e+09,'reported','reviews#1/facts','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.024796,"report":{"summary":"done","result":"facts went well. [FACTS:1]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627793,1.76000000034641981123e+09,'decided','reviews#1/facts','{"section":"rules","rule":0,"kind":"label","condition":"approved","next":"_","read":{"tag":"[FACTS:1]"},"verdict":"approved"}');
INSERT INTO "events" VALUES(1099511627794,1.76000000034641981123e+09,'settled','reviews#1/facts','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627795,1.76000000034641981123e+09,'reported','reviews#1/style','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.024786,"report":{"summary":"done","result":"style went well. [STYLE:1]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627796,1.76000000034641981123e+09,'decided','reviews#1/style','{"section":"rules","rule":0,"kind":"label","condition":"approved","next":"_","read":{"tag":"[STYLE:1]"},"verdict":"approved"}');
INSERT INTO "events" VALUES(1099511627797,1.76000000034641981123e+09,'settled','reviews#1/style','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627798,1.76000000034641981123e+09,'reported','reviews#1/slow','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.024924,"report":{"summary":"done","result":"slow went well. [SLOW:1]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627799,1.76000000034641981123e+09,'decided','reviews#1/slow','{"section":"rules","rule":0,"kind":"label","condition":"approved","next":"_","read":{"tag":"[SLOW:1]"},"verdict":"approved"}');
INSERT INTO "events" VALUES(1099511627800,1.76000000034641981123e+09,'settled','reviews#1/slow','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627801,1.76000000034641981123e+09,'decided','reviews#1','{"section":"rules","rule":0,"kind":"aggregate","condition":"all(\"approved\")","next":"check","read":{"children":[["facts","approved"],["style","approved"],["slow","approved"]]},"verdict":"all(\"approved\")","text":"## facts\nfacts went well. [FACTS:1]\n\n---\n\n## style\nstyle went well. [STYLE:1]\n\n---\n\n## slow\nslow went well. [SLOW:1]"}');
INSERT INTO "events" VALUES(1099511627802,1.76000000034641981123e+09,'settled','reviews#1','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627803,1.76000000034641981123e+09,'created','check#1','{"step":"check","up":"","frame":"","content":"a33885d1cc3451b9","n":1,"iteration":2,"calls":"checks.yaml"}');
INSERT INTO "events" VALUES(1099511627804,1.76000000034641981123e+09,'settled','check#1','{"state":"exhausted","kind":"step_limit","reason":"The limit of 2 steps is reached; the next would be ''look''. Resume with a higher one to go on.","resumable":true,"pending":"look"}');
INSERT INTO "events" VALUES(1099511627805,1.76000000034641981123e+09,'settled','','{"state":"exhausted","kind":"step_limit","reason":"Step ''check'': The limit of 2 steps is reached; the next would be ''look''. Resume with a higher one to go on.","resumable":true}');
INSERT INTO "events" VALUES(1099511627806,1.76000000034641981123e+09,'run_status','','{"status":"exhausted"}');
CREATE TABLE requests (
	id INTEGER NOT NULL, 
	run INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	t FLOAT NOT NULL, 
	"by" TEXT NOT NULL, 
	taken INTEGER, 
	PRIMARY KEY (id), 
	FOREIGN KEY(run) REFERENCES runs (no)
);
CREATE TABLE runs (
	no INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	created_t FLOAT NOT NULL, 
	title TEXT NOT NULL, 
	meta TEXT NOT NULL, 
	status TEXT NOT NULL, 
	summary TEXT, 
	seq INTEGER NOT NULL, 
	updated_t FLOAT NOT NULL, 
	epoch INTEGER NOT NULL, 
	host TEXT, 
	pid INTEGER, 
	started FLOAT, 
	token TEXT, 
	claimed_t FLOAT, 
	beat_t FLOAT, 
	PRIMARY KEY (no), 
	UNIQUE (id)
);
INSERT INTO "runs" VALUES(1,'ng3csk',1.76000000024956941603e+09,'flow: a hut','{"kind":"workflow","name":"flow"}','exhausted','{"nodes":7,"calls":4,"tokens":0,"cost":0.0,"elapsed_s":0.083}',30,1.76000000034641981123e+09,1,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE sol_journal (
	version INTEGER NOT NULL
);
INSERT INTO "sol_journal" VALUES(1);
CREATE INDEX requests_waiting ON requests (run) WHERE taken IS NULL;
COMMIT;
